//! The 3D classes 9097 (GF100), a097 (GK104), a197 (GK110), but for what they share with others.

use super::methods;

methods! {
    /// State of drawing, and what draws.
    pub mod three_d;

    0x020c LINE_WIDTH_SEPARATE                Raster;             // SET_ALIASED_LINE_WIDTH_ENABLE
    0x0210 FORCE_EARLY_FRAGMENT_TESTS         Fragment;
    0x0218 UNK0218                            Tuning ignored;     // SET_L2_CACHE_CONTROL_FOR_ROP_PREFETCH_READ_REQUESTS
    0x02d0 UNK02D0                            Tuning ignored;     // SET_PRIM_CIRCULAR_BUFFER_THROTTLE
    0x0300 PS_OUTPUT_SAMPLE_MASK_USAGE        Fragment;           // SET_PS_OUTPUT_SAMPLE_MASK_USAGE
    0x030c UNK030C                            Tuning ignored;     // SET_RENDER_ENABLE_CONTROL
    0x0320 TESS_MODE                          Assembly;           // SET_TESSELLATION_PARAMETERS
    0x0324 TESS_LEVEL_OUTER[4; 0x4]           Assembly;           // SET_TESSELLATION_LOD_U0_OR_DENSITY
    0x0334 TESS_LEVEL_INNER[2; 0x4]           Assembly;           // SET_TG_LOD_INTERIOR_U
    0x0360 UNK0360                            Tuning ignored;     // SET_SUBTILING_PERF_KNOB_A
    0x0364 UNK0364                            Tuning ignored;     // SET_SUBTILING_PERF_KNOB_B
    0x037c RASTERIZE_ENABLE                   Raster;             // SET_RASTER_ENABLE
    0x0380 TFB_BUFFER_ENABLE[4; 0x20]         Feedback;           // SET_STREAM_OUT_BUFFER_ENABLE
    0x0384 TFB_ADDRESS_HIGH[4; 0x20]          Feedback;           // SET_STREAM_OUT_BUFFER_ADDRESS_A
    0x0388 TFB_ADDRESS_LOW[4; 0x20]           Feedback;           // SET_STREAM_OUT_BUFFER_ADDRESS_B
    0x038c TFB_BUFFER_SIZE[4; 0x20]           Feedback;           // SET_STREAM_OUT_BUFFER_SIZE
    0x0390 TFB_BUFFER_OFFSET[4; 0x20]         Feedback;           // SET_STREAM_OUT_BUFFER_LOAD_WRITE_POINTER
    0x0700 TFB_STREAM[4; 0x10]                Feedback;           // SET_STREAM_OUT_CONTROL_STREAM
    0x0704 TFB_VARYING_COUNT[4; 0x10]         Feedback;           // SET_STREAM_OUT_CONTROL_COMPONENT_COUNT
    0x0708 TFB_BUFFER_STRIDE[4; 0x10]         Feedback;           // SET_STREAM_OUT_CONTROL_STRIDE
    0x0744 TFB_ENABLE                         Feedback;           // SET_STREAM_OUTPUT
    0x074c UNK074C                            Tuning ignored;     // SET_ALPHA_FRACTION
    0x0754 SAMPLE_SHADING                     Fragment;           // SET_HYBRID_ANTI_ALIAS_CONTROL
    0x075c UNK075C                            Tuning ignored;     // SET_MAX_TI_WARPS_PER_BATCH
    0x07c0 ZCULL_WIDTH                        Tuning;
    0x07c4 ZCULL_HEIGHT                       Tuning;
    0x07e8 ZCULL_ADDRESS_HIGH                 Tuning;
    0x07ec ZCULL_ADDRESS_LOW                  Tuning;
    0x07f0 ZCULL_LIMIT_HIGH                   Tuning;
    0x07f4 ZCULL_LIMIT_LOW                    Tuning;
    0x07fc UNK07FC                            Tuning ignored;
    0x0800 RT_ADDRESS_HIGH[8; 0x40]           Target;             // SET_COLOR_TARGET_A
    0x0804 RT_ADDRESS_LOW[8; 0x40]            Target;             // SET_COLOR_TARGET_B
    0x0808 RT_HORIZ[8; 0x40]                  Target;             // SET_COLOR_TARGET_WIDTH
    0x080c RT_VERT[8; 0x40]                   Target;             // SET_COLOR_TARGET_HEIGHT
    0x0810 RT_FORMAT[8; 0x40]                 Target;             // SET_COLOR_TARGET_FORMAT
    0x0814 RT_TILE_MODE[8; 0x40]              Target;             // SET_COLOR_TARGET_MEMORY
    0x0818 RT_ARRAY_MODE[8; 0x40]             Target;             // SET_COLOR_TARGET_THIRD_DIMENSION
    0x081c RT_LAYER_STRIDE[8; 0x40]           Target;             // SET_COLOR_TARGET_ARRAY_PITCH
    0x0820 RT_BASE_LAYER[8; 0x40]             Target;             // SET_COLOR_TARGET_LAYER
    0x0a00 VIEWPORT_SCALE_X[16; 0x20]         Viewport;           // SET_VIEWPORT_SCALE_X
    0x0a04 VIEWPORT_SCALE_Y[16; 0x20]         Viewport;           // SET_VIEWPORT_SCALE_Y
    0x0a08 VIEWPORT_SCALE_Z[16; 0x20]         Viewport;           // SET_VIEWPORT_SCALE_Z
    0x0a0c VIEWPORT_TRANSLATE_X[16; 0x20]     Viewport;           // SET_VIEWPORT_OFFSET_X
    0x0a10 VIEWPORT_TRANSLATE_Y[16; 0x20]     Viewport;           // SET_VIEWPORT_OFFSET_Y
    0x0a14 VIEWPORT_TRANSLATE_Z[16; 0x20]     Viewport;           // SET_VIEWPORT_OFFSET_Z
    0x0a18 VIEWPORT_SWIZZLE[16; 0x20]         Viewport;
    0x0a1c SUBPIXEL_PRECISION[16; 0x20]       Viewport;
    0x0c00 VIEWPORT_HORIZ[16; 0x10]           Viewport;           // SET_VIEWPORT_CLIP_HORIZONTAL
    0x0c04 VIEWPORT_VERT[16; 0x10]            Viewport;           // SET_VIEWPORT_CLIP_VERTICAL
    0x0c08 DEPTH_RANGE_NEAR[16; 0x10]         Viewport;           // SET_VIEWPORT_CLIP_MIN_Z
    0x0c0c DEPTH_RANGE_FAR[16; 0x10]          Viewport;           // SET_VIEWPORT_CLIP_MAX_Z
    0x0d00 CLIP_RECT_HORIZ[8; 0x8]            Scissor;            // SET_WINDOW_CLIP_HORIZONTAL
    0x0d04 CLIP_RECT_VERT[8; 0x8]             Scissor;            // SET_WINDOW_CLIP_VERTICAL
    0x0d40 CLIPID_REGION_HORIZ[4; 0x8]        ClipId;
    0x0d44 CLIPID_REGION_VERT[4; 0x8]         ClipId;
    0x0d68 COUNTER_ENABLE                     Query;
    0x0d74 VERTEX_BUFFER_FIRST                Draw;               // SET_VERTEX_ARRAY_START
    0x0d78 VERTEX_BUFFER_COUNT                Draw acts;          // DRAW_VERTEX_ARRAY
    0x0d7c DEPTH_CLIP_NEGATIVE_Z              Clip;               // SET_VIEWPORT_Z_CLIP
    0x0d80 CLEAR_COLOR[4; 0x4]                Clear;              // SET_COLOR_CLEAR_VALUE
    0x0d90 CLEAR_DEPTH                        Clear;              // SET_Z_CLEAR_VALUE
    0x0da0 CLEAR_STENCIL                      Clear;              // SET_STENCIL_CLEAR_VALUE
    0x0dac POLYGON_MODE_FRONT                 Raster;
    0x0db0 POLYGON_MODE_BACK                  Raster;
    0x0db4 POLYGON_SMOOTH_ENABLE              Raster;             // SET_POLY_SMOOTH
    0x0dc0 POLYGON_OFFSET_POINT_ENABLE        Raster;             // SET_POLY_OFFSET_POINT
    0x0dc4 POLYGON_OFFSET_LINE_ENABLE         Raster;             // SET_POLY_OFFSET_LINE
    0x0dc8 POLYGON_OFFSET_FILL_ENABLE         Raster;             // SET_POLY_OFFSET_FILL
    0x0dcc PATCH_VERTICES                     Assembly = 3;           // SET_PATCH
    0x0de8 PRIM_RESTART_WITH_DRAW_ARRAYS      Assembly;           // SET_DA_PRIMITIVE_RESTART_VERTEX_ARRAY
    0x0df8 WINDOW_OFFSET_X                    Viewport;           // SET_WINDOW_OFFSET_X
    0x0dfc WINDOW_OFFSET_Y                    Viewport;           // SET_WINDOW_OFFSET_Y
    0x0e00 SCISSOR_ENABLE[16; 0x10]           Scissor;            // SET_SCISSOR_ENABLE
    0x0e04 SCISSOR_HORIZ[16; 0x10]            Scissor;            // SET_SCISSOR_HORIZONTAL
    0x0e08 SCISSOR_VERT[16; 0x10]             Scissor;            // SET_SCISSOR_VERTICAL
    0x0f1c POST_DEPTH_COVERAGE                Fragment;
    0x0f54 STENCIL_BACK_FUNC_REF              DepthStencil;       // SET_BACK_STENCIL_FUNC_REF
    0x0f58 STENCIL_BACK_MASK                  DepthStencil;       // SET_BACK_STENCIL_MASK
    0x0f5c STENCIL_BACK_FUNC_MASK             DepthStencil;       // SET_BACK_STENCIL_FUNC_MASK
    0x0f84 VERTEX_RUNOUT_ADDRESS_HIGH         VertexInput;        // SET_VERTEX_STREAM_SUBSTITUTE_A
    0x0f88 VERTEX_RUNOUT_ADDRESS_LOW          VertexInput;        // SET_VERTEX_STREAM_SUBSTITUTE_B
    0x0f90 COLOR_MASK_COMMON                  Blend;              // SET_SINGLE_CT_WRITE_CONTROL
    0x0f9c DEPTH_BOUNDS[2; 0x4]               DepthStencil;       // SET_DEPTH_BOUNDS_MIN
    0x0fac RT_SEPARATE_FRAG_DATA              Target;             // SET_CT_MRT_ENABLE
    0x0fbc MSAA_MASK[4; 0x4]                  Samples = 0xffff;   // SET_SAMPLE_MASK_X0_Y0
    0x0fcc CLIPID_ADDRESS_HIGH                ClipId;
    0x0fd0 CLIPID_ADDRESS_LOW                 ClipId;
    0x0fdc UNK0FDC                            Tuning ignored;     // SET_BLEND_OPT_CONTROL
    0x0fe0 ZETA_ADDRESS_HIGH                  Target;             // SET_ZT_A
    0x0fe4 ZETA_ADDRESS_LOW                   Target;             // SET_ZT_B
    0x0fe8 ZETA_FORMAT                        Target;             // SET_ZT_FORMAT
    0x0fec ZETA_TILE_MODE                     Target;             // SET_ZT_BLOCK_SIZE
    0x0ff0 ZETA_LAYER_STRIDE                  Target;             // SET_ZT_ARRAY_PITCH
    0x0ff4 SCREEN_SCISSOR_HORIZ               Scissor;            // SET_SURFACE_CLIP_HORIZONTAL
    0x0ff8 SCREEN_SCISSOR_VERT                Scissor;            // SET_SURFACE_CLIP_VERTICAL
    0x10cc UNK10CC                            Tuning ignored;     // SET_REDUCE_COLOR_THRESHOLDS_UNORM8
    0x10e0 UNK10E0                            Tuning ignored;     // SET_REDUCE_COLOR_THRESHOLDS_UNORM10
    0x10e4 UNK10E4                            Tuning ignored;     // SET_REDUCE_COLOR_THRESHOLDS_UNORM16
    0x10ec UNK10EC                            Tuning ignored;     // SET_REDUCE_COLOR_THRESHOLDS_FP16
    0x10f0 UNK10F0                            Tuning ignored;     // SET_REDUCE_COLOR_THRESHOLDS_SRGB8
    0x10f8 CLEAR_FLAGS                        Clear;              // SET_CLEAR_SURFACE_CONTROL
    0x10fc UNK10FC                            Tuning ignored;     // SET_L2_CACHE_CONTROL_FOR_ROP_NONINTERLOCKED_READ_REQUESTS
    0x1114 WRCACHE_FLUSH                      Cache ignored;
    0x1118 VERTEX_ID_BASE                     Draw;               // SET_VERTEX_ID_BASE
    0x113c FILL_RECTANGLE                     Raster;
    0x1140 UNK1140                            Tuning ignored;     // SET_BLEND_PER_FORMAT_ENABLE
    0x1148 CONSERVATIVE_RASTER                Raster;
    0x114c VTX_ATTR_DEFINE                    VertexInput;
    0x1150 VTX_ATTR_DATA[4; 0x4]              VertexInput acts;
    0x1160 VERTEX_ATTRIB_FORMAT[32; 0x4]      VertexInput;        // SET_VERTEX_ATTRIBUTE_A
    0x11e0 SAMPLE_LOCATIONS[4; 0x4]           Samples;
    0x11f0 LAYER_VIEWPORT_RELATIVE            Viewport;
    0x121c RT_CONTROL                         Target;             // SET_CT_SELECT
    0x1228 ZETA_HORIZ                         Target;             // SET_ZT_SIZE_A
    0x122c ZETA_VERT                          Target;             // SET_ZT_SIZE_B
    0x1230 ZETA_ARRAY_MODE                    Target;             // SET_ZT_SIZE_C
    0x123c DRAW_TFB_BYTES                     Draw acts;          // DRAW_AUTO
    0x1240 GP_PASSTHROUGH[8; 0x4]             Program;
    0x1290 UNK1290                            Tuning ignored;     // SET_L2_CACHE_CONTROL_FOR_ROP_INTERLOCKED_READ_REQUESTS
    0x12ac UNK12AC                            Tuning ignored;     // SET_SHADER_SCHEDULING
    0x12cc DEPTH_TEST_ENABLE                  DepthStencil;       // SET_DEPTH_TEST
    0x12d0 D3D_FILL_MODE                      Raster;
    0x12d4 SHADE_MODEL                        Raster;             // SET_SHADE_MODE
    0x12d8 UNK12D8[2; 0x4]                    Tuning ignored;     // SET_L2_CACHE_CONTROL_FOR_ROP_NONINTERLOCKED_WRITE_REQUESTS
    0x12e4 BLEND_INDEPENDENT                  Blend;              // SET_BLEND_STATE_PER_TARGET
    0x12e8 DEPTH_WRITE_ENABLE                 DepthStencil;       // SET_DEPTH_WRITE
    0x12ec ALPHA_TEST_ENABLE                  DepthStencil;       // SET_ALPHA_TEST
    0x1300 VB_ELEMENT_U8_SETUP                Draw;
    0x1304 VB_ELEMENT_U8                      Draw acts;          // DRAW_INLINE_INDEX4X8
    0x1308 D3D_CULL_MODE                      Raster;
    0x130c DEPTH_TEST_FUNC                    DepthStencil;       // SET_DEPTH_FUNC
    0x1310 ALPHA_TEST_REF                     DepthStencil;       // SET_ALPHA_REF
    0x1314 ALPHA_TEST_FUNC                    DepthStencil;       // SET_ALPHA_FUNC
    0x1318 DRAW_TFB_STRIDE                    Draw;               // SET_DRAW_AUTO_STRIDE
    0x131c BLEND_COLOR[4; 0x4]                Blend;              // SET_BLEND_CONST_RED
    0x133c BLEND_SEPARATE_ALPHA               Blend;              // SET_BLEND_SEPARATE_FOR_ALPHA
    0x1340 BLEND_EQUATION_RGB                 Blend;              // SET_BLEND_COLOR_OP
    0x1344 BLEND_FUNC_SRC_RGB                 Blend;              // SET_BLEND_COLOR_SOURCE_COEFF
    0x1348 BLEND_FUNC_DST_RGB                 Blend;              // SET_BLEND_COLOR_DEST_COEFF
    0x134c BLEND_EQUATION_ALPHA               Blend;              // SET_BLEND_ALPHA_OP
    0x1350 BLEND_FUNC_SRC_ALPHA               Blend;              // SET_BLEND_ALPHA_SOURCE_COEFF
    0x1358 BLEND_FUNC_DST_ALPHA               Blend;              // SET_BLEND_ALPHA_DEST_COEFF
    0x135c BLEND_ENABLE_COMMON                Blend;              // SET_SINGLE_ROP_CONTROL
    0x1360 BLEND_ENABLE[8; 0x4]               Blend;              // SET_BLEND
    0x1380 STENCIL_ENABLE                     DepthStencil;       // SET_STENCIL_TEST
    0x1384 STENCIL_FRONT_OP_FAIL              DepthStencil;       // SET_STENCIL_OP_FAIL
    0x1388 STENCIL_FRONT_OP_ZFAIL             DepthStencil;       // SET_STENCIL_OP_ZFAIL
    0x138c STENCIL_FRONT_OP_ZPASS             DepthStencil;       // SET_STENCIL_OP_ZPASS
    0x1390 STENCIL_FRONT_FUNC_FUNC            DepthStencil;       // SET_STENCIL_FUNC
    0x1394 STENCIL_FRONT_FUNC_REF             DepthStencil;       // SET_STENCIL_FUNC_REF
    0x1398 STENCIL_FRONT_FUNC_MASK            DepthStencil;       // SET_STENCIL_FUNC_MASK
    0x139c STENCIL_FRONT_MASK                 DepthStencil;       // SET_STENCIL_MASK
    0x13a4 DRAW_TFB_BASE                      Draw;               // SET_DRAW_AUTO_START
    0x13a8 FRAG_COLOR_CLAMP_EN                Fragment;           // SET_PS_SATURATE
    0x13ac SCREEN_Y_CONTROL                   Viewport;           // SET_WINDOW_ORIGIN
    0x13b0 LINE_WIDTH_SMOOTH                  Raster;             // SET_LINE_WIDTH_FLOAT
    0x13b4 LINE_WIDTH_ALIASED                 Raster;             // SET_ALIASED_LINE_WIDTH_FLOAT
    0x142c VERTEX_ARRAY_FLUSH                 Cache ignored;      // INVALIDATE_DA_DMA_CACHE
    0x1434 VB_ELEMENT_BASE                    Draw;               // SET_GLOBAL_BASE_VERTEX_INDEX
    0x1438 VB_INSTANCE_BASE                   Draw;               // SET_GLOBAL_BASE_INSTANCE_INDEX
    0x1504 CLIPID_HEIGHT                      ClipId;
    0x1508 CLIPID_FILL_RECT_HORIZ             ClipId;
    0x150c CLIPID_FILL_RECT_VERT              ClipId;
    0x1510 CLIP_DISTANCE_ENABLE               Clip;               // SET_USER_CLIP_ENABLE
    0x1514 SAMPLECNT_ENABLE                   Query;              // SET_ZPASS_PIXEL_COUNT
    0x1518 POINT_SIZE                         Raster;             // SET_POINT_SIZE
    0x151c ZCULL_STATCTRS_ENABLE              Tuning ignored;     // SET_ZCULL_STATS
    0x1520 POINT_SPRITE_ENABLE                Raster;             // SET_POINT_SPRITE
    0x1530 COUNTER_RESET                      Query acts;         // CLEAR_REPORT_VALUE
    0x1534 MULTISAMPLE_ENABLE                 Samples;            // SET_ANTI_ALIAS_ENABLE
    0x1538 ZETA_ENABLE                        DepthStencil;       // SET_ZT_SELECT
    0x153c MULTISAMPLE_CTRL                   Samples;            // SET_ANTI_ALIAS_ALPHA_CONTROL
    0x156c POLYGON_OFFSET_FACTOR              Raster;             // SET_SLOPE_SCALE_DEPTH_BIAS
    0x1570 LINE_SMOOTH_ENABLE                 Raster;             // SET_ANTI_ALIASED_LINE
    0x1590 ZCULL_REGION                       Tuning ignored;     // SET_ACTIVE_ZCULL_REGION
    0x1594 STENCIL_TWO_SIDE_ENABLE            DepthStencil;       // SET_TWO_SIDED_STENCIL_TEST
    0x1598 STENCIL_BACK_OP_FAIL               DepthStencil;       // SET_BACK_STENCIL_OP_FAIL
    0x159c STENCIL_BACK_OP_ZFAIL              DepthStencil;       // SET_BACK_STENCIL_OP_ZFAIL
    0x15a0 STENCIL_BACK_OP_ZPASS              DepthStencil;       // SET_BACK_STENCIL_OP_ZPASS
    0x15a4 STENCIL_BACK_FUNC_FUNC             DepthStencil;       // SET_BACK_STENCIL_FUNC
    0x15b4 CSAA_ENABLE                        Samples;
    0x15b8 FRAMEBUFFER_SRGB                   Blend;
    0x15bc POLYGON_OFFSET_UNITS               Raster;             // SET_DEPTH_BIAS
    0x15cc LAYER                              Viewport;           // SET_RT_LAYER
    0x15d0 MULTISAMPLE_MODE                   Samples;            // SET_ANTI_ALIAS
    0x15e4 EDGEFLAG                           Draw = 1;               // SET_EDGE_FLAG
    0x15e8 VB_ELEMENT_U32                     Draw acts;          // DRAW_INLINE_INDEX
    0x15ec VB_ELEMENT_U16_SETUP               Draw;
    0x15f0 VB_ELEMENT_U16                     Draw acts;          // DRAW_INLINE_INDEX2X16
    0x15f4 VERTEX_BASE_HIGH                   VertexInput;
    0x15f8 VERTEX_BASE_LOW                    VertexInput;
    0x15fc ZCULL_WINDOW_OFFSET_X              Tuning;
    0x1600 ZCULL_WINDOW_OFFSET_Y              Tuning;
    0x1604 POINT_COORD_REPLACE                Raster;             // SET_POINT_SPRITE_SELECT
    0x1610 ATTRIBUTE_DEFAULT                  Fragment;           // SET_ATTRIBUTE_DEFAULT
    0x1614 VERTEX_END_GL                      Draw acts;          // END
    0x1618 VERTEX_BEGIN_GL                    Draw acts;          // BEGIN
    0x161c VERTEX_ID_REPLACE                  Program;            // SET_VERTEX_ID_COPY
    0x1640 VERTEX_DATA                        Draw acts;
    0x1644 PRIM_RESTART_ENABLE                Assembly;           // SET_DA_PRIMITIVE_RESTART
    0x1648 PRIM_RESTART_INDEX                 Assembly;           // SET_DA_PRIMITIVE_RESTART_INDEX
    0x164c VERTEX_ID_GEN_MODE                 Draw;               // SET_DA_OUTPUT
    0x1658 POINT_SMOOTH_ENABLE                Raster;             // SET_ANTI_ALIASED_POINT
    0x165c POINT_RASTER_RULES                 Raster;             // SET_POINT_CENTER_MODE
    0x1668 LINE_SMOOTH_BLUR                   Raster;
    0x166c LINE_STIPPLE_ENABLE                Raster;             // SET_LINE_STIPPLE
    0x1670 COVERAGE_LUT[4; 0x4]               Raster;
    0x1680 LINE_STIPPLE_PATTERN               Raster;             // SET_LINE_STIPPLE_PARAMETERS
    0x1684 PROVOKING_VERTEX_LAST              Assembly;           // SET_PROVOKING_VERTEX
    0x1688 VERTEX_TWO_SIDE_ENABLE             Raster;             // SET_TWO_SIDED_LIGHT
    0x168c POLYGON_STIPPLE_ENABLE             Raster;             // SET_POLYGON_STIPPLE
    0x16a8 UNK16A8                            Tuning ignored;     // CHECK_SPH_VERSION
    0x1700 POLYGON_STIPPLE_PATTERN[32; 0x4]   Raster;             // SET_POLYGON_STIPPLE_PATTERN
    0x1794 UNK1794                            Tuning ignored;     // CHECK_AAM_VERSION
    0x179c ZETA_BASE_LAYER                    Target;             // SET_ZT_LAYER
    0x17bc VERTEX_QUARANTINE_ADDRESS_HIGH     VertexInput;        // SET_VAB_MEMORY_AREA_A
    0x17c0 VERTEX_QUARANTINE_ADDRESS_LOW      VertexInput;        // SET_VAB_MEMORY_AREA_B
    0x17c4 VERTEX_QUARANTINE_SIZE             VertexInput;        // SET_VAB_MEMORY_AREA_C
    0x17c8 INDEX_ARRAY_START_HIGH             Index;              // SET_INDEX_BUFFER_A
    0x17cc INDEX_ARRAY_START_LOW              Index;              // SET_INDEX_BUFFER_B
    0x17d0 INDEX_ARRAY_LIMIT_HIGH             Index;              // SET_INDEX_BUFFER_C
    0x17d4 INDEX_ARRAY_LIMIT_LOW              Index;              // SET_INDEX_BUFFER_D
    0x17d8 INDEX_FORMAT                       Index;              // SET_INDEX_BUFFER_E
    0x17dc INDEX_BATCH_FIRST                  Draw;               // SET_INDEX_BUFFER_F
    0x17e0 INDEX_BATCH_COUNT                  Draw acts;          // DRAW_INDEX_BUFFER
    0x17e4 UN17E4[6; 0x4]                     Draw acts;
    0x187c POLYGON_OFFSET_CLAMP               Raster;             // SET_DEPTH_BIAS_CLAMP
    0x1880 VERTEX_ARRAY_PER_INSTANCE[32; 0x4] VertexInput;
    0x1910 VP_POINT_SIZE                      Raster;             // SET_ATTRIBUTE_POINT_SIZE
    0x1918 CULL_FACE_ENABLE                   Raster;             // OGL_SET_CULL
    0x191c FRONT_FACE                         Raster;             // OGL_SET_FRONT_FACE
    0x1920 CULL_FACE                          Raster;             // OGL_SET_CULL_FACE
    0x1924 PIXEL_CENTER_INTEGER               Viewport;           // SET_VIEWPORT_PIXEL
    0x192c VIEWPORT_TRANSFORM_EN              Viewport;           // SET_VIEWPORT_SCALE_OFFSET
    0x193c VIEW_VOLUME_CLIP_CTRL              Clip;               // SET_VIEWPORT_CLIP_CONTROL
    0x1940 CLIP_DISTANCE_MODE                 Clip;               // SET_USER_CLIP_OP
    0x194c CLIP_RECTS_EN                      Scissor;            // SET_WINDOW_CLIP_ENABLE
    0x1950 CLIP_RECTS_MODE                    Scissor;            // SET_WINDOW_CLIP_TYPE
    0x1958 ZCULL_INVALIDATE                   Tuning;
    0x196c ZCULL_TEST_MASK                    Tuning ignored;     // SET_ZCULL_BOUNDS
    0x197c CLIPID_ENABLE                      ClipId;             // SET_CLIP_ID_TEST
    0x1980 CLIPID_WIDTH                       ClipId;
    0x1984 CLIPID_ID                          ClipId;
    0x19bc DEPTH_BOUNDS_EN                    DepthStencil;       // SET_DEPTH_BOUNDS_TEST
    0x19c0 BLEND_FLOAT_OPTION                 Blend;              // SET_BLEND_FLOAT_OPTION
    0x19c4 LOGIC_OP_ENABLE                    Blend;              // SET_LOGIC_OP
    0x19c8 LOGIC_OP                           Blend;              // SET_LOGIC_OP_FUNC
    0x19cc ZETA_COMP_ENABLE                   Tuning ignored;     // SET_Z_COMPRESSION
    0x19d0 CLEAR_BUFFERS                      Clear acts;         // CLEAR_SURFACE
    0x19d4 CLIPID_FILL                        ClipId acts;
    0x19e0 RT_COMP_ENABLE[8; 0x4]             Tuning ignored;     // SET_COLOR_COMPRESSION
    0x1a00 COLOR_MASK[8; 0x4]                 Blend;              // SET_CT_WRITE
    0x1c00 VERTEX_ARRAY_FETCH[32; 0x10]       VertexInput;        // SET_VERTEX_STREAM_A_FORMAT
    0x1c04 VERTEX_ARRAY_START_HIGH[32; 0x10]  VertexInput;        // SET_VERTEX_STREAM_A_LOCATION_A
    0x1c08 VERTEX_ARRAY_START_LOW[32; 0x10]   VertexInput;        // SET_VERTEX_STREAM_A_LOCATION_B
    0x1c0c VERTEX_ARRAY_DIVISOR[32; 0x10]     VertexInput;        // SET_VERTEX_STREAM_A_FREQUENCY
    0x1e00 IBLEND_SEPARATE_ALPHA[8; 0x20]     Blend;
    0x1e04 IBLEND_EQUATION_RGB[8; 0x20]       Blend;
    0x1e08 IBLEND_FUNC_SRC_RGB[8; 0x20]       Blend;
    0x1e0c IBLEND_FUNC_DST_RGB[8; 0x20]       Blend;
    0x1e10 IBLEND_EQUATION_ALPHA[8; 0x20]     Blend;
    0x1e14 IBLEND_FUNC_SRC_ALPHA[8; 0x20]     Blend;
    0x1e18 IBLEND_FUNC_DST_ALPHA[8; 0x20]     Blend;
    0x1f00 VERTEX_ARRAY_LIMIT_HIGH[32; 0x8]   VertexInput;        // SET_VERTEX_STREAM_LIMIT_A_A
    0x1f04 VERTEX_ARRAY_LIMIT_LOW[32; 0x8]    VertexInput;        // SET_VERTEX_STREAM_LIMIT_A_B
    0x2000 SP_SELECT[6; 0x40]                 Program;            // SET_PIPELINE_SHADER
    0x2004 SP_START_ID[6; 0x40]               Program;
    0x200c SP_GPR_ALLOC[6; 0x40]              Program;
    0x2010 SP_TYPE[6; 0x40]                   Program;
    0x2200 TEX_LIMITS[5; 0x10]                Textures;           // SET_BINDING_CONTROL_TEXTURE
    0x2300 FIRMWARE[32; 0x4]                  Firmware;
    0x2400 BIND_TSC[5; 0x20]                  Textures acts;      // BIND_GROUP_TEXTURE_SAMPLER
    0x2404 BIND_TIC[5; 0x20]                  Textures acts;
    0x2408 BIND_TSC2[5; 0x20]                 Textures acts;
    0x240c BIND_TIC2[5; 0x20]                 Textures acts;
    0x2410 CB_BIND[5; 0x20]                   Constants acts;     // BIND_GROUP_CONSTANT_BUFFER
    0x2600 VERT_COLOR_CLAMP_EN                Fragment;           // SET_COLOR_CLAMP
    0x2800 TFB_VARYING_LOCS[128; 0x4]         Feedback;           // SET_STREAM_OUT_LAYOUT_SELECT
    0x337c MP_PM_SIGSEL[4; 0x4]               Counters;
    0x338c MP_PM_B_SIGSEL[4; 0x4]             Counters;
}
