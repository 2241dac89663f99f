//! The compute classes 90c0 (GF100), a0c0 (GK104), a1c0 (GK110).

use super::methods;

methods! {
    /// All compute classes.
    pub mod compute;

    0x0214 SHARED_BASE       Memory;
    0x0500 FIRMWARE[32; 0x4] Firmware;
    0x1698 FLUSH             Cache ignored;
}

methods! {
    /// GF100's: a launch is in registers.
    pub mod fermi_compute;

    0x0204 LOCAL_POS_ALLOC      Memory;
    0x0208 LOCAL_NEG_ALLOC      Memory;
    0x020c WARP_CSTACK_SIZE     Launch;
    0x0210 TEX_LIMITS           Textures;
    0x0228 BIND_TSC             Textures acts;
    0x022c BIND_TIC             Textures acts;
    0x0230 BIND_TSC2            Textures acts;
    0x0234 BIND_TIC2            Textures acts;
    0x0238 GRIDDIM_YX           Launch;
    0x023c GRIDDIM_Z            Launch;
    0x024c SHARED_SIZE          Launch;
    0x0250 THREADS_ALLOC        Launch;
    0x0254 BARRIER_ALLOC        Launch;
    0x029c COMPUTE_BEGIN        Launch;
    0x02a0 UNK02A0              Tuning;
    0x02c0 CP_GPR_ALLOC         Launch;
    0x02c4 UNK02C4              Tuning;
    0x0360 UNK0360              Tuning;
    0x0368 LAUNCH               Launch acts;
    0x036c UNK036C              Tuning;
    0x03ac BLOCKDIM_YX          Launch;
    0x03b0 BLOCKDIM_Z           Launch;
    0x03b4 CP_START_ID          Launch;
    0x0758 MP_LIMIT             Tuning ignored;
    0x0780 GRIDID               Launch;
    0x0a04 COMPUTE_END          Launch;
    0x0a08 UNK0A08              Tuning;
    0x1694 CB_BIND              Constants acts;
    0x337c MP_PM_SIGSEL[8; 0x4] Counters;
}

methods! {
    /// Kepler's: a launch is a descriptor in memory ([`Qmd`](crate::qmd::Qmd)).
    pub mod kepler_compute;

    0x0200 VALID_SPAN_OVERFLOW_AREA_ADDRESS_UPPER    Memory;
    0x0204 VALID_SPAN_OVERFLOW_AREA_ADDRESS_LOWER    Memory;
    0x0208 VALID_SPAN_OVERFLOW_AREA_SIZE             Memory;
    0x0218 SELECT_MAXWELL_TEXTURE_HEADERS            Textures;
    0x0228 RESERVED_SW_METHOD02                      Firmware;
    0x0248 UNK0248                                   Tuning;
    0x02a0 SHADER_SHARED_MEMORY_WINDOW_ADDRESS_UPPER Memory;
    0x02a4 SHADER_SHARED_MEMORY_WINDOW_ADDRESS       Memory;
    0x02b4 LAUNCH_DESC_ADDRESS                       Launch;
    0x02bc LAUNCH                                    Launch acts;
    0x02e4 MP_TEMP_SIZE[2; 0xc]                      Memory;
    0x02e8 MP_TEMP_SIZE_LOW[2; 0xc]                  Memory;
    0x02ec MP_TEMP_SIZE_MASK[2; 0xc]                 Memory;
    0x0310 UNK0310                                   Tuning;
    0x07b0 SHADER_LOCAL_MEMORY_WINDOW_ADDRESS_UPPER  Memory;
    0x07b4 SHADER_LOCAL_MEMORY_WINDOW_ADDRESS        Memory;
    0x260c TRAP_HANDLER                              Program;
    0x337c MP_PM_A_SIGSEL[4; 0x4]                    Counters;
    0x338c MP_PM_B_SIGSEL[4; 0x4]                    Counters;
    0x33bc MP_PM_FUNC[8; 0x4]                        Counters;
}
