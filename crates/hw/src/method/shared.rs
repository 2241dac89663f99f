//! Methods that several classes have at the same addresses.

use super::methods;

methods! {
    /// The channel itself: methods below 0x100, whatever class is bound.
    pub mod channel;

    0x0000 OBJECT                 Channel acts;
    0x0010 SEMAPHORE_ADDRESS_HIGH Channel;
    0x0014 SEMAPHORE_ADDRESS_LOW  Channel;
    0x0018 SEMAPHORE_SEQUENCE     Channel;
    0x001c SEMAPHORE_TRIGGER      Channel acts;
    0x0020 NOTIFY_INTR            Channel ignored;
    0x0024 WRCACHE_FLUSH          Channel ignored;
    0x0050 REF_CNT                Channel ignored;
    0x0080 SEMAPHORE_ACQUIRE      Channel;
}

methods! {
    /// Macros, of the 3D and compute classes. A macro has two methods: the call, and further
    /// parameters.
    pub mod macros;

    0x0114 MACRO_UPLOAD_POS      Macro acts;         // LOAD_MME_INSTRUCTION_RAM_POINTER
    0x0118 MACRO_UPLOAD_DATA     Macro acts;         // LOAD_MME_INSTRUCTION_RAM
    0x011c MACRO_ID              Macro acts;         // LOAD_MME_START_ADDRESS_RAM_POINTER
    0x0120 MACRO_POS             Macro acts;         // LOAD_MME_START_ADDRESS_RAM
    0x3800 MACRO[128; 0x8]       Macro acts;         // CALL_MME_MACRO
    0x3804 MACRO_PARAM[128; 0x8] Macro acts;         // CALL_MME_DATA
}

methods! {
    /// Data in the stream: the 3D and compute classes of Kepler, P2MF.
    pub mod upload;

    0x0180 UPLOAD_LINE_LENGTH_IN     Upload;
    0x0184 UPLOAD_LINE_COUNT         Upload;
    0x0188 UPLOAD_DST_ADDRESS_HIGH   Upload;
    0x018c UPLOAD_DST_ADDRESS_LOW    Upload;
    0x0190 UPLOAD_DST_PITCH          Upload;
    0x0194 UPLOAD_DST_TILE_MODE      Upload;
    0x0198 UPLOAD_DST_WIDTH          Upload;
    0x019c UPLOAD_DST_HEIGHT         Upload;
    0x01a0 UPLOAD_DST_DEPTH          Upload;
    0x01a4 UPLOAD_DST_Z              Upload;
    0x01a8 UPLOAD_DST_X              Upload;
    0x01ac UPLOAD_DST_Y              Upload;
    0x01b0 UPLOAD_EXEC               Upload acts;
    0x01b4 UPLOAD_DATA               Upload acts;
    0x01dc UPLOAD_QUERY_ADDRESS_HIGH Upload;
    0x01e0 UPLOAD_QUERY_ADDRESS_LOW  Upload;
    0x01e4 UPLOAD_QUERY_SEQUENCE     Upload;
}

methods! {
    /// Whether clears, draws and launches happen: the 3D and compute classes, P2MF.
    pub mod condition;

    0x1550 COND_ADDRESS_HIGH Condition;          // SET_RENDER_ENABLE_A
    0x1554 COND_ADDRESS_LOW  Condition;          // SET_RENDER_ENABLE_B
    0x1558 COND_MODE         Condition = 1;      // SET_RENDER_ENABLE_C
}

methods! {
    /// Reports of counters and times: the 3D and compute classes.
    pub mod query;

    0x1b00 QUERY_ADDRESS_HIGH Query;              // SET_REPORT_SEMAPHORE_A
    0x1b04 QUERY_ADDRESS_LOW  Query;              // SET_REPORT_SEMAPHORE_B
    0x1b08 QUERY_SEQUENCE     Query;              // SET_REPORT_SEMAPHORE_C
    0x1b0c QUERY_GET          Query acts;         // SET_REPORT_SEMAPHORE_D
}

methods! {
    /// What programs need: code, local memory, tables of textures and samplers. The 3D and compute
    /// classes.
    pub mod shader;

    0x0110 SERIALIZE            Cache ignored;      // WAIT_FOR_IDLE
    0x021c MEM_BARRIER          Cache ignored;      // INVALIDATE_SHADER_CACHES
    0x077c LOCAL_BASE           Memory;             // SET_SHADER_LOCAL_MEMORY_WINDOW
    0x0790 TEMP_ADDRESS_HIGH    Memory;             // SET_SHADER_LOCAL_MEMORY_A
    0x0794 TEMP_ADDRESS_LOW     Memory;             // SET_SHADER_LOCAL_MEMORY_B
    0x0de4 WATCHDOG_TIMER       Tuning ignored;     // SET_SM_TIMEOUT_INTERVAL
    0x1330 TSC_FLUSH            Cache ignored;      // INVALIDATE_SAMPLER_CACHE
    0x1334 TIC_FLUSH            Cache ignored;      // INVALIDATE_TEXTURE_HEADER_CACHE
    0x1338 TEX_CACHE_CTL        Cache ignored;      // INVALIDATE_TEXTURE_DATA_CACHE
    0x155c TSC_ADDRESS_HIGH     Textures;           // SET_TEX_SAMPLER_POOL_A
    0x1560 TSC_ADDRESS_LOW      Textures;           // SET_TEX_SAMPLER_POOL_B
    0x1564 TSC_LIMIT            Textures;           // SET_TEX_SAMPLER_POOL_C
    0x1574 TIC_ADDRESS_HIGH     Textures;           // SET_TEX_HEADER_POOL_A
    0x1578 TIC_ADDRESS_LOW      Textures;           // SET_TEX_HEADER_POOL_B
    0x157c TIC_LIMIT            Textures;           // SET_TEX_HEADER_POOL_C
    0x1608 CODE_ADDRESS_HIGH    Program;            // SET_PROGRAM_REGION_A
    0x160c CODE_ADDRESS_LOW     Program;            // SET_PROGRAM_REGION_B
    0x1a24 DELAY                Cache ignored;
    0x2608 TEX_CB_INDEX         Constants;
    0x335c MP_PM_SET[8; 0x4]    Counters;
    0x339c MP_PM_SRCSEL[8; 0x4] Counters;
}

methods! {
    /// What programs need and Kepler's compute classes find in the launch descriptor: constants,
    /// surface slots. The 3D classes, GF100's compute class.
    pub mod bindings;

    0x02c8 GLOBAL_BASE                 Memory;
    0x0308 CACHE_SPLIT                 Cache ignored;      // SET_L1_CONFIGURATION
    0x0798 TEMP_SIZE_HIGH              Memory;             // SET_SHADER_LOCAL_MEMORY_C
    0x079c TEMP_SIZE_LOW               Memory;             // SET_SHADER_LOCAL_MEMORY_D
    0x07a0 WARP_TEMP_ALLOC             Memory;             // SET_SHADER_LOCAL_MEMORY_E
    0x0d64 CALL_LIMIT_LOG              Program;            // SET_API_VISIBLE_CALL_LIMIT
    0x1234 LINKED_TSC                  Textures;           // SET_SAMPLER_BINDING
    0x1664 TEX_MISC                    Textures;           // SET_CUBEMAP_INTER_FACE_FILTERING
    0x2380 CB_SIZE                     Constants;          // SET_CONSTANT_BUFFER_SELECTOR_A
    0x2384 CB_ADDRESS_HIGH             Constants;          // SET_CONSTANT_BUFFER_SELECTOR_B
    0x2388 CB_ADDRESS_LOW              Constants;          // SET_CONSTANT_BUFFER_SELECTOR_C
    0x238c CB_POS                      Constants;          // LOAD_CONSTANT_BUFFER_OFFSET
    0x2390 CB_DATA[16; 0x4]            Constants acts;     // LOAD_CONSTANT_BUFFER
    0x2700 IMAGE_ADDRESS_HIGH[8; 0x20] Images;             // SET_SU_LD_ST_TARGET_A
    0x2704 IMAGE_ADDRESS_LOW[8; 0x20]  Images;             // SET_SU_LD_ST_TARGET_B
    0x2708 IMAGE_WIDTH[8; 0x20]        Images;             // SET_SU_LD_ST_TARGET_C
    0x270c IMAGE_HEIGHT[8; 0x20]       Images;             // SET_SU_LD_ST_TARGET_D
    0x2710 IMAGE_FORMAT[8; 0x20]       Images;             // SET_SU_LD_ST_TARGET_FORMAT
    0x2714 IMAGE_TILE_MODE[8; 0x20]    Images;             // SET_SU_LD_ST_TARGET_BLOCK_SIZE
    0x33bc MP_PM_OP[8; 0x4]            Counters;
}
