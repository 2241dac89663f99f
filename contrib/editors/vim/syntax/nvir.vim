" nvir IR. Written by `BLESS=1 cargo test --test compiler editors` from nvir's tables.
if exists('b:current_syntax')
  finish
endif
syn case match
syn iskeyword @,48-57,_
syn match nvirPunctuation /[-+=|~!@#>:.,()[\]{}]/
syn match nvirName /\<[a-z_][A-Za-z0-9_]*\>/
syn match nvirNumber /\<\d\+\%(\.\d\+\|\.#\u\+\)\?\%([eE][-+]\?\d\+\)\?\>/
syn match nvirNumber /\<0x\x\+\>/
syn keyword nvirConstant 1d 2d 2d_ms 3d add address and bgra8 bias buffer bytes cas
syn keyword nvirConstant cmp coord cube ddx ddy dec exch fadd fmax fmin handle inc
syn keyword nvirConstant index layers load lod lodq max min offset or r11f_g11f_b10f r16 r16_snorm
syn keyword nvirConstant r16f r16i r16ui r32f r32i r32ui r8 r8_snorm r8i r8ui rg16 rg16_snorm
syn keyword nvirConstant rg16f rg16i rg16ui rg32f rg32i rg32ui rg8 rg8_snorm rg8i rg8ui rgb10_a2 rgb10_a2ui
syn keyword nvirConstant rgba16 rgba16_snorm rgba16f rgba16i rgba16ui rgba32f rgba32i rgba32ui rgba8 rgba8_snorm rgba8i rgba8ui
syn keyword nvirConstant sample sindex sub tex texel tg4 txb txd txf txl txq txqs
syn keyword nvirConstant xor
syn keyword nvirKeyword align array at atom block call coherent comp cont coords data exit
syn keyword nvirKeyword extern format from given handle if in index indirect input join jump
syn keyword nvirKeyword kernel known lane library local loop lz machine mask offsets private program
syn keyword nvirKeyword readonly ret sample shadow shared stage sub sv to uniform unreachable volatile
syn keyword nvirKeyword wholewarps
syn match nvirOpcode /\<shf\.l\>/
syn match nvirOpcode /\<shf\.r\>/
syn keyword nvirOpcode abs add addsat and atom attraddr bar brev bufsize call cctl cos
syn keyword nvirOpcode cvt discard div emit ex2 ext flo ins interp ld ldexp ldlk
syn keyword nvirOpcode lg2 mad madhi madsp max membar min mod mov mul mulhi mulz
syn keyword nvirOpcode neg not or pcopy pixel popc preex2 presin prmt quadop rcp rcp64h
syn keyword nvirOpcode rdsv rsq rsq64h sad sel selfact set shfl shl shladd shr sin
syn keyword nvirOpcode slct sqrt st stul sub subfm subsat suclamp sueau suld suq sured
syn keyword nvirOpcode sust tex texbar undef vertex vote wholewarp xor
syn keyword nvirType b128 b96 f16 f32 f64 pred s16 s32 s64 s8 u16 u32
syn keyword nvirType u64 u8
syn match nvirSuffix /\.[a-z][a-z0-9_]*\>/
syn match nvirFunction /\<f\d\+\>/
syn match nvirLabel /\<b\d\+\>/
syn match nvirRegister /\<[a-z]\+\d*\[/
syn match nvirConstant /\<sv\[[a-z0-9_.]\+\]/
syn match nvirRegister /%[rpc]\d\+\>/
syn match nvirConstant /\<\u[A-Z0-9_]*\>/
syn match nvirFunction /\<\%(kernel\|sub\)\s\+[A-Za-z0-9_.$@]\+(/
syn match nvirComment /;.*$/
hi def link nvirComment Comment
hi def link nvirFunction Function
hi def link nvirConstant Constant
hi def link nvirRegister Identifier
hi def link nvirLabel Label
hi def link nvirSuffix Special
hi def link nvirType Type
hi def link nvirOpcode Function
hi def link nvirKeyword Statement
hi def link nvirNumber Number
hi def link nvirName Normal
hi def link nvirPunctuation Delimiter
let b:current_syntax = 'nvir'
