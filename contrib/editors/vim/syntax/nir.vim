" NIR. Written by `BLESS=1 cargo test --test compiler editors` from nvir's tables.
if exists('b:current_syntax')
  finish
endif
syn case match
syn iskeyword @,48-57,_
syn match nirPunctuation /[-+=*&|!?<>^~%\/\\:;.,'"@#$()[\]{}]/
syn match nirName /[@#$]\?\<\h[A-Za-z0-9_@#$]*/
syn match nirNumber /\<\d\+\%(\.\d\+\|\.#\u\+\)\?\%([eE][-+]\?\d\+\)\?\>/
syn match nirNumber /\<0x\x\+\>/
syn match nirType /\<\%([iu]\|u\?int\|bool\|float\|con\|div\)\?\%(8\|16\|32\|64\|1\)x\?\d*\>/
syn match nirConstant /\<fused-eu-disable-intel\>/
syn match nirConstant /\<cp-ge-coherent-amd\>/
syn match nirConstant /\<fmask-lowered-amd\>/
syn match nirConstant /\<External-2D-Y2Y\>/
syn match nirConstant /\<include-helpers\>/
syn match nirConstant /\<is-swizzled-amd\>/
syn match nirConstant /\<uses-format-amd\>/
syn match nirConstant /\<Subpass-MSAA\>/
syn match nirConstant /\<non-temporal\>/
syn match nirConstant /\<skip-helpers\>/
syn match nirConstant /\<estream-pan\>/
syn match nirConstant /\<istream-pan\>/
syn match nirConstant /\<keep-scalar\>/
syn match nirConstant /\<non-uniform\>/
syn match nirConstant /\<in-bounds\>/
syn match nirConstant /\<smem-amd\>/
syn match nirConstant /\<2D-MSAA\>/
syn keyword nirConstant 1D 2D 2DMS 2DRect 3D Buf Buffer Cube DEVICE External ExternalOES INVOCATION
syn keyword nirConstant LINES LINES_ADJACENCY LINE_STRIP MESA_SHADER_ANY_HIT MESA_SHADER_CALLABLE MESA_SHADER_CLOSEST_HIT MESA_SHADER_COMPUTE MESA_SHADER_FRAGMENT MESA_SHADER_GEOMETRY MESA_SHADER_INTERSECTION MESA_SHADER_KERNEL MESA_SHADER_MESH
syn keyword nirConstant MESA_SHADER_MISS MESA_SHADER_RAYGEN MESA_SHADER_TASK MESA_SHADER_TESS_CTRL MESA_SHADER_TESS_EVAL MESA_SHADER_VERTEX NONE POINTS QUEUE_FAMILY Rect SHADER_CALL SUBGROUP
syn keyword nirConstant Subpass TRIANGLES TRIANGLES_ADJACENCY TRIANGLE_STRIP WORKGROUP atomic b8g8r8a8_unorm bias coherent comparator constant coord
syn keyword nirConstant ddx ddy function_temp generic global image lod min_lod ms_index node_payload node_payload_in none
syn keyword nirConstant offset pixel_local pixel_local_in pixel_local_out projector push_const r10g10b10a2_uint r10g10b10a2_unorm r11g11b10_float r16_float r16_sint r16_snorm
syn keyword nirConstant r16_uint r16_unorm r16g16_float r16g16_sint r16g16_snorm r16g16_uint r16g16_unorm r16g16b16a16_float r16g16b16a16_sint r16g16b16a16_snorm r16g16b16a16_uint r16g16b16a16_unorm
syn keyword nirConstant r32_float r32_sint r32_uint r32g32_float r32g32_sint r32g32_uint r32g32b32a32_float r32g32b32a32_sint r32g32b32a32_uint r8_sint r8_snorm r8_uint
syn keyword nirConstant r8_unorm r8g8_sint r8g8_snorm r8g8_uint r8g8_unorm r8g8b8a8_sint r8g8b8a8_snorm r8g8b8a8_uint r8g8b8a8_unorm ray_hit_attrib rd readonly
syn keyword nirConstant reorderable resource_heap restrict rtne rtz ru sampler_deref sampler_handle sampler_heap sampler_offset shader_call_data shader_in
syn keyword nirConstant shader_out shader_temp shared sparse speculatable ssbo system task_payload texture_deref texture_handle texture_offset ubo
syn keyword nirConstant undef uniform volatile writeonly
syn keyword nirOpcode amul b16all_fequal16 b16all_fequal2 b16all_fequal3 b16all_fequal4 b16all_fequal5 b16all_fequal8 b16all_iequal16 b16all_iequal2 b16all_iequal3 b16all_iequal4 b16all_iequal5
syn keyword nirOpcode b16all_iequal8 b16any_fnequal16 b16any_fnequal2 b16any_fnequal3 b16any_fnequal4 b16any_fnequal5 b16any_fnequal8 b16any_inequal16 b16any_inequal2 b16any_inequal3 b16any_inequal4 b16any_inequal5
syn keyword nirOpcode b16any_inequal8 b16csel b2b1 b2b16 b2b32 b2b8 b2f16 b2f32 b2f64 b2i1 b2i16 b2i32
syn keyword nirOpcode b2i64 b2i8 b32all_fequal16 b32all_fequal2 b32all_fequal3 b32all_fequal4 b32all_fequal5 b32all_fequal8 b32all_iequal16 b32all_iequal2 b32all_iequal3 b32all_iequal4
syn keyword nirOpcode b32all_iequal5 b32all_iequal8 b32any_fnequal16 b32any_fnequal2 b32any_fnequal3 b32any_fnequal4 b32any_fnequal5 b32any_fnequal8 b32any_inequal16 b32any_inequal2 b32any_inequal3 b32any_inequal4
syn keyword nirOpcode b32any_inequal5 b32any_inequal8 b32csel b8all_fequal16 b8all_fequal2 b8all_fequal3 b8all_fequal4 b8all_fequal5 b8all_fequal8 b8all_iequal16 b8all_iequal2 b8all_iequal3
syn keyword nirOpcode b8all_iequal4 b8all_iequal5 b8all_iequal8 b8any_fnequal16 b8any_fnequal2 b8any_fnequal3 b8any_fnequal4 b8any_fnequal5 b8any_fnequal8 b8any_inequal16 b8any_inequal2 b8any_inequal3
syn keyword nirOpcode b8any_inequal4 b8any_inequal5 b8any_inequal8 b8csel ball_fequal16 ball_fequal2 ball_fequal3 ball_fequal4 ball_fequal5 ball_fequal8 ball_iequal16 ball_iequal2
syn keyword nirOpcode ball_iequal3 ball_iequal4 ball_iequal5 ball_iequal8 bany_fnequal16 bany_fnequal2 bany_fnequal3 bany_fnequal4 bany_fnequal5 bany_fnequal8 bany_inequal16 bany_inequal2
syn keyword nirOpcode bany_inequal3 bany_inequal4 bany_inequal5 bany_inequal8 bcsel bf2f bfi bfm bit_count bitfield_insert bitfield_reverse bitfield_select
syn keyword nirOpcode bitnz bitnz16 bitnz32 bitnz8 bitz bitz16 bitz32 bitz8 cube_amd cube_face_coord_amd cube_face_index_amd cube_r600
syn keyword nirOpcode extract_i16 extract_i8 extract_u16 extract_u8 f2b1 f2b16 f2b32 f2b8 f2bf f2f16 f2f16_rtne f2f16_rtz
syn keyword nirOpcode f2f32 f2f64 f2fmp f2i1 f2i16 f2i32 f2i64 f2i8 f2imp f2u1 f2u16 f2u32
syn keyword nirOpcode f2u64 f2u8 f2ump fabs fadd fall_equal16 fall_equal2 fall_equal3 fall_equal4 fall_equal5 fall_equal8 fany_nequal16
syn keyword nirOpcode fany_nequal2 fany_nequal3 fany_nequal4 fany_nequal5 fany_nequal8 fcanonicalize fceil fclamp_pos fclamp_pos_mali fcos fcos_amd fcsel
syn keyword nirOpcode fcsel_eqn fcsel_ge fcsel_gt fddx fddx_coarse fddx_fine fddx_must_abs_mali fddy fddy_coarse fddy_fine fddy_must_abs_mali fdiv
syn keyword nirOpcode fdot16 fdot16_replicated fdot2 fdot2_replicated fdot3 fdot3_replicated fdot4 fdot4_replicated fdot5 fdot5_replicated fdot8 fdot8_replicated
syn keyword nirOpcode fdph fdph_replicated feq feq16 feq32 feq8 fequ fequ16 fequ32 fequ8 fexp2 ffloor
syn keyword nirOpcode ffma ffmaz ffract fge fge16 fge32 fge8 fgeu fgeu16 fgeu32 fgeu8 find_lsb
syn keyword nirOpcode fisfinite fisfinite32 fisnormal flog2 flrp flt flt16 flt32 flt8 fltu fltu16 fltu32
syn keyword nirOpcode fltu8 fmax fmin fmod fmul fmulz fneg fneo fneo16 fneo32 fneo8 fneu
syn keyword nirOpcode fneu16 fneu32 fneu8 ford ford16 ford32 ford8 fpow fquantize2f16 frcp frem frexp_exp
syn keyword nirOpcode frexp_sig fround_even frsq fsat fsat_signed fsat_signed_mali fsign fsin fsin_agx fsin_amd fsqrt fsub
syn keyword nirOpcode fsum16 fsum2 fsum3 fsum4 fsum5 fsum8 ftrunc funord funord16 funord32 funord8 i2b1
syn keyword nirOpcode i2b16 i2b32 i2b8 i2f16 i2f32 i2f64 i2fmp i2i1 i2i16 i2i32 i2i64 i2i8
syn keyword nirOpcode i2imp i32csel_ge i32csel_gt iabs iadd iadd3 iadd_sat iand ibfe ibitfield_extract icsel_eqz idiv
syn keyword nirOpcode ieq ieq16 ieq32 ieq8 ifind_msb ifind_msb_rev ige ige16 ige32 ige8 ihadd ilt
syn keyword nirOpcode ilt16 ilt32 ilt8 imad imad24_ir3 imadsh_mix16 imax imin imod imul imul24 imul24_relaxed
syn keyword nirOpcode imul_16x16 imul_2x32_64 imul_32x16 imul_high ine ine16 ine32 ine8 ineg inot insert_u16 insert_u8
syn keyword nirOpcode ior irem irhadd ishl ishr isign isub isub_sat ixor ldexp lod mov
syn keyword nirOpcode mqsad_4x8 msad_4x8 pack_32_2x16 pack_32_2x16_split pack_32_4x8 pack_32_4x8_split pack_64_2x32 pack_64_2x32_split pack_64_4x16 pack_double_2x32_dxil pack_half_2x16 pack_half_2x16_rtz
syn keyword nirOpcode pack_half_2x16_rtz_split pack_half_2x16_split pack_sint_2x16 pack_snorm_2x16 pack_snorm_4x8 pack_uint_2x16 pack_unorm_2x16 pack_unorm_4x8 pack_uvec2_to_uint pack_uvec4_to_uint prmt_nv query_levels
syn keyword nirOpcode sad_u8x4 samples_identical sdot_2x16_iadd sdot_2x16_iadd_sat sdot_4x8_iadd sdot_4x8_iadd_sat seq sge shfr slt sne sudot_4x8_iadd
syn keyword nirOpcode sudot_4x8_iadd_sat tex texture_samples tg4 txb txd txf txf_ms txl txs u2f16 u2f32
syn keyword nirOpcode u2f64 u2fmp u2u1 u2u16 u2u32 u2u64 u2u8 uabs_isub uabs_usub uadd_carry uadd_sat ubfe
syn keyword nirOpcode ubitfield_extract uclz udiv udot_2x16_uadd udot_2x16_uadd_sat udot_4x8_uadd udot_4x8_uadd_sat ufind_msb ufind_msb_rev uge uge16 uge32
syn keyword nirOpcode uge8 uhadd ult ult16 ult32 ult8 umad24 umad24_relaxed umax umax_4x8_vc4 umin umin_4x8_vc4
syn keyword nirOpcode umod umul24 umul24_relaxed umul_16x16 umul_2x32_64 umul_32x16 umul_high umul_low umul_unorm_4x8_vc4 unpack_32_2x16 unpack_32_2x16_split_x unpack_32_2x16_split_y
syn keyword nirOpcode unpack_32_4x8 unpack_64_2x32 unpack_64_2x32_split_x unpack_64_2x32_split_y unpack_64_4x16 unpack_double_2x32_dxil unpack_half_2x16 unpack_half_2x16_flush_to_zero unpack_half_2x16_split_x unpack_half_2x16_split_x_flush_to_zero unpack_half_2x16_split_y unpack_half_2x16_split_y_flush_to_zero
syn keyword nirOpcode unpack_snorm_2x16 unpack_snorm_4x8 unpack_unorm_2x16 unpack_unorm_4x8 urhadd urol uror usadd_4x8_vc4 ushr ussub_4x8_vc4 usub_borrow usub_sat
syn keyword nirOpcode vec16 vec2 vec3 vec4 vec5 vec8
syn keyword nirIntrinsic addr_mode_is as_uniform ballot ballot_bit_count_exclusive ballot_bit_count_inclusive ballot_bit_count_reduce ballot_bitfield_extract ballot_find_lsb ballot_find_msb ballot_relaxed barrier begin_invocation_interlock
syn keyword nirIntrinsic bindless_image_atomic bindless_image_atomic_add bindless_image_atomic_and bindless_image_atomic_comp_swap bindless_image_atomic_dec_wrap bindless_image_atomic_exchange bindless_image_atomic_fadd bindless_image_atomic_fcomp_swap bindless_image_atomic_fmax bindless_image_atomic_fmin bindless_image_atomic_imax bindless_image_atomic_imin
syn keyword nirIntrinsic bindless_image_atomic_inc_wrap bindless_image_atomic_or bindless_image_atomic_sub bindless_image_atomic_swap bindless_image_atomic_umax bindless_image_atomic_umin bindless_image_atomic_xor bindless_image_load bindless_image_samples bindless_image_size bindless_image_store control_barrier
syn keyword nirIntrinsic convert_alu_types copy_deref ddx ddx_coarse ddx_fine ddy ddy_coarse ddy_fine decl_reg demote demote_if deref_atomic
syn keyword nirIntrinsic deref_atomic_add deref_atomic_and deref_atomic_comp_swap deref_atomic_dec_wrap deref_atomic_exchange deref_atomic_fadd deref_atomic_fcomp_swap deref_atomic_fmax deref_atomic_fmin deref_atomic_imax deref_atomic_imin deref_atomic_inc_wrap
syn keyword nirIntrinsic deref_atomic_or deref_atomic_sub deref_atomic_swap deref_atomic_umax deref_atomic_umin deref_atomic_xor deref_buffer_array_length deref_mode_is discard discard_if elect emit_vertex
syn keyword nirIntrinsic end_invocation_interlock end_primitive exclusive_scan first_invocation get_ssbo_size get_ubo_size global_atomic global_atomic_2x32 global_atomic_add global_atomic_add_2x32 global_atomic_and global_atomic_and_2x32
syn keyword nirIntrinsic global_atomic_comp_swap global_atomic_comp_swap_2x32 global_atomic_dec_wrap global_atomic_dec_wrap_2x32 global_atomic_exchange global_atomic_exchange_2x32 global_atomic_fadd global_atomic_fadd_2x32 global_atomic_fcomp_swap global_atomic_fcomp_swap_2x32 global_atomic_fmax global_atomic_fmax_2x32
syn keyword nirIntrinsic global_atomic_fmin global_atomic_fmin_2x32 global_atomic_imax global_atomic_imax_2x32 global_atomic_imin global_atomic_imin_2x32 global_atomic_inc_wrap global_atomic_inc_wrap_2x32 global_atomic_or global_atomic_or_2x32 global_atomic_sub global_atomic_sub_2x32
syn keyword nirIntrinsic global_atomic_swap global_atomic_swap_2x32 global_atomic_umax global_atomic_umax_2x32 global_atomic_umin global_atomic_umin_2x32 global_atomic_xor global_atomic_xor_2x32 group_memory_barrier image_atomic image_atomic_add image_atomic_and
syn keyword nirIntrinsic image_atomic_comp_swap image_atomic_dec_wrap image_atomic_exchange image_atomic_fadd image_atomic_fcomp_swap image_atomic_fmax image_atomic_fmin image_atomic_imax image_atomic_imin image_atomic_inc_wrap image_atomic_or image_atomic_sub
syn keyword nirIntrinsic image_atomic_swap image_atomic_umax image_atomic_umin image_atomic_xor image_deref_atomic image_deref_atomic_add image_deref_atomic_and image_deref_atomic_comp_swap image_deref_atomic_dec_wrap image_deref_atomic_exchange image_deref_atomic_fadd image_deref_atomic_fcomp_swap
syn keyword nirIntrinsic image_deref_atomic_fmax image_deref_atomic_fmin image_deref_atomic_imax image_deref_atomic_imin image_deref_atomic_inc_wrap image_deref_atomic_or image_deref_atomic_sub image_deref_atomic_swap image_deref_atomic_umax image_deref_atomic_umin image_deref_atomic_xor image_deref_load
syn keyword nirIntrinsic image_deref_samples image_deref_size image_deref_store image_load image_samples image_size image_store inclusive_scan init_whole_warp interp_deref_at_centroid interp_deref_at_offset interp_deref_at_sample
syn keyword nirIntrinsic inverse_ballot is_helper_invocation last_invocation load_barycentric_at_offset load_barycentric_at_sample load_barycentric_centroid load_barycentric_pixel load_barycentric_sample load_base_global_invocation_id load_base_instance load_base_vertex load_base_workgroup_id
syn keyword nirIntrinsic load_constant load_deref load_draw_id load_first_vertex load_frag_coord load_front_face load_global load_global_2x32 load_global_constant load_global_constant_bounded load_global_constant_offset load_global_invocation_id
syn keyword nirIntrinsic load_global_invocation_id_zero_base load_global_invocation_index load_helper_invocation load_input load_instance_id load_interpolated_input load_invocation_id load_kernel_input load_layer_id load_local_invocation_id load_local_invocation_index load_num_subgroups
syn keyword nirIntrinsic load_num_workgroups load_output load_param load_patch_vertices_in load_per_vertex_input load_per_vertex_output load_point_coord load_primitive_id load_push_constant load_reg load_reg_indirect load_sample_id
syn keyword nirIntrinsic load_sample_mask_in load_sample_pos load_scratch load_scratch_base_ptr load_shared load_shared_base_ptr load_ssbo load_subgroup_eq_mask load_subgroup_ge_mask load_subgroup_gt_mask load_subgroup_id load_subgroup_invocation
syn keyword nirIntrinsic load_subgroup_le_mask load_subgroup_lt_mask load_subgroup_size load_tess_coord load_tess_coord_xy load_tess_level_inner load_tess_level_outer load_ubo load_ubo_vec4 load_uniform load_vertex_id load_vertex_id_zero_base
syn keyword nirIntrinsic load_work_dim load_workgroup_id load_workgroup_id_zero_base load_workgroup_index load_workgroup_size memcpy_deref memory_barrier memory_barrier_atomic_counter memory_barrier_buffer memory_barrier_image memory_barrier_shared memory_barrier_tcs_patch
syn keyword nirIntrinsic nop quad_broadcast quad_swap_diagonal quad_swap_horizontal quad_swap_vertical quad_vote_all quad_vote_any read_first_invocation read_invocation reduce rotate scoped_barrier
syn keyword nirIntrinsic shader_clock shared_atomic shared_atomic_add shared_atomic_and shared_atomic_comp_swap shared_atomic_dec_wrap shared_atomic_exchange shared_atomic_fadd shared_atomic_fcomp_swap shared_atomic_fmax shared_atomic_fmin shared_atomic_imax
syn keyword nirIntrinsic shared_atomic_imin shared_atomic_inc_wrap shared_atomic_or shared_atomic_sub shared_atomic_swap shared_atomic_umax shared_atomic_umin shared_atomic_xor shuffle shuffle_down shuffle_up shuffle_xor
syn keyword nirIntrinsic ssbo_atomic ssbo_atomic_add ssbo_atomic_and ssbo_atomic_comp_swap ssbo_atomic_dec_wrap ssbo_atomic_exchange ssbo_atomic_fadd ssbo_atomic_fcomp_swap ssbo_atomic_fmax ssbo_atomic_fmin ssbo_atomic_imax ssbo_atomic_imin
syn keyword nirIntrinsic ssbo_atomic_inc_wrap ssbo_atomic_or ssbo_atomic_sub ssbo_atomic_swap ssbo_atomic_umax ssbo_atomic_umin ssbo_atomic_xor ssbo_size store_deref store_global store_global_2x32 store_output
syn keyword nirIntrinsic store_per_vertex_output store_reg store_reg_indirect store_scratch store_shared store_ssbo terminate terminate_if vote_all vote_any vote_feq vote_ieq
syn match nirName /\<[a-z][a-z0-9_]*=/
syn keyword nirKeyword block break call continue decl_function decl_overload decl_var deref_array deref_cast deref_ptr_as_array deref_struct deref_var
syn keyword nirKeyword else halt if impl intrinsic load_const loop phi preds return shader ssa_undef
syn keyword nirKeyword succs undef undefined
syn match nirRegister /%\d\+\>\|\<ssa_\d\+\>\|\<r\d\+\>/
syn match nirLabel /\<block_\d\+\>\|\<b\d\+\>/
syn match nirConstant /\<INTERP_MODE_[A-Z_]\+\>/
syn match nirComment +//.*$+
syn region nirComment start=/\/\*/ end=/\*\//
hi def link nirComment Comment
hi def link nirConstant Constant
hi def link nirLabel Label
hi def link nirRegister Identifier
hi def link nirKeyword Statement
hi def link nirName Normal
hi def link nirIntrinsic Function
hi def link nirOpcode Function
hi def link nirType Type
hi def link nirNumber Number
hi def link nirPunctuation Delimiter
let b:current_syntax = 'nir'
