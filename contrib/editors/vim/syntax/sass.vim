" SASS. Written by `BLESS=1 cargo test --test compiler editors` from nvir's tables.
if exists('b:current_syntax')
  finish
endif
syn case match
syn iskeyword @,48-57,_
syn match sassPunctuation /[-+|~!.,;:()[\]{}]/
syn match sassName /\<[A-Za-z_$][A-Za-z0-9_.$]*/
syn match sassNumber /\<\x\+\>/
syn match sassNumber /[-+]\%(INF\|[QS]NAN\)/
syn match sassNumber /\<\d\+\%(\.\d\+\|\.#\u\+\)\?\%([eE][-+]\?\d\+\)\?\>/
syn match sassNumber /\<0x\x\+\>/
syn match sassSuffix /{\%(short\|form 0x\x\+\)}/
syn match sassSuffix /\.[A-Z0-9][A-Z0-9_]*\>/
syn keyword sassConstant 1D 2D 3D ARRAY_1D ARRAY_2D ARRAY_3D ARRAY_CUBE CC CUBE E2D PR TEX_HEADER_DIMENSION
syn keyword sassConstant TEX_HEADER_SAMPLER_POS TEX_HEADER_TEXTURE_TYPE TEX_SAMPLER_BORDER_COLOR TEX_SAMPLER_FILTER TEX_SAMPLER_LOD TEX_SAMPLER_WRAP
syn match sassOpcode /\<VOTE\.VTG\>/
syn keyword sassOpcode AL2P ALD AST ATOM B2R BAR BFE BFI BPT BRA BRK BRX
syn keyword sassOpcode CAL CCTL CCTLL CCTLS CONT CSET CSETP DADD DCHK DFMA DMNMX DMUL
syn keyword sassOpcode DSET DSETP EXIT F2F F2I FADD FADD32I FCCO FCHK FCMP FFMA FFMA32I
syn keyword sassOpcode FLO FMNMX FMUL FMUL32I FSET FSETP FSWZ GETCRSPTR GETLMEMBASE I2F I2I IADD
syn keyword sassOpcode IADD32I ICMP IDE IMAD IMAD32I IMADSP IMNMX IMUL IMUL32I IPA ISAD ISBERD
syn keyword sassOpcode ISCADD ISCADD32I ISET ISETP ISUB JCAL JMP JMX KIL LD LDC LDG
syn keyword sassOpcode LDL LDLK LDS LDSLK LDU LEPC LONGJMP LOP LOP32I MEMBAR MOV MOV32I
syn keyword sassOpcode MUFU NOP OUT P2R PBK PCNT PIXLD PLONGJMP POPC PRET PRMT PSET
syn keyword sassOpcode PSETP R2B R2P RAM RED RET RRO RTT S2R SAM SEL SETCRSPTR
syn keyword sassOpcode SETLMEMBASE SHF SHFL SHL SHR SSY ST STL STP STS STSCUL STSUL
syn keyword sassOpcode STUL SUBFM SUCLAMP SUEAU SULD SULDGA SULEA SUQ SURED SUST SUSTGA SYNC
syn keyword sassOpcode TEX TEXDEPBAR TEXS TLD TLD4 TMML TXA TXD TXQ VABSDIFF VABSDIFF2 VABSDIFF4
syn keyword sassOpcode VADD VADD2 VADD2X VADD4 VAVRG2 VAVRG4 VILD VMAD VMNMX VMNMX2 VMNMX4 VOTE
syn keyword sassOpcode VSEL VSEL2 VSEL4 VSET VSET2 VSET4 VSETP VSHL VSHL2 VSHL4 VSHR VSHR2
syn keyword sassOpcode VSHR4
syn match sassConstant /\<CC\.FCSM_MX\>/
syn match sassConstant /\<CC\.FCSM_TA\>/
syn match sassConstant /\<CC\.FCSM_TR\>/
syn match sassConstant /\<CC\.CSM_MX\>/
syn match sassConstant /\<CC\.CSM_TA\>/
syn match sassConstant /\<CC\.CSM_TR\>/
syn match sassConstant /\<CC\.EQU\>/
syn match sassConstant /\<CC\.GEU\>/
syn match sassConstant /\<CC\.GTU\>/
syn match sassConstant /\<CC\.LEU\>/
syn match sassConstant /\<CC\.LTU\>/
syn match sassConstant /\<CC\.NAN\>/
syn match sassConstant /\<CC\.NEU\>/
syn match sassConstant /\<CC\.NUM\>/
syn match sassConstant /\<CC\.OFF\>/
syn match sassConstant /\<CC\.OFT\>/
syn match sassConstant /\<CC\.RGT\>/
syn match sassConstant /\<CC\.RLE\>/
syn match sassConstant /\<CC\.SFF\>/
syn match sassConstant /\<CC\.SFT\>/
syn match sassConstant /\<CC\.EQ\>/
syn match sassConstant /\<CC\.GE\>/
syn match sassConstant /\<CC\.GT\>/
syn match sassConstant /\<CC\.HI\>/
syn match sassConstant /\<CC\.HS\>/
syn match sassConstant /\<CC\.LE\>/
syn match sassConstant /\<CC\.LO\>/
syn match sassConstant /\<CC\.LS\>/
syn match sassConstant /\<CC\.LT\>/
syn match sassConstant /\<CC\.NE\>/
syn match sassConstant /\<CC\.F\>/
syn match sassConstant /\<CC\.T\>/
syn match sassRegister /\<SR\d\+\>\|\<[acv]\[/
syn match sassRegister /\<SR_NCTAID\.X\>/
syn match sassRegister /\<SR_NCTAID\.Y\>/
syn match sassRegister /\<SR_NCTAID\.Z\>/
syn match sassRegister /\<SR_CTAID\.X\>/
syn match sassRegister /\<SR_CTAID\.Y\>/
syn match sassRegister /\<SR_CTAID\.Z\>/
syn match sassRegister /\<SR_NTID\.X\>/
syn match sassRegister /\<SR_NTID\.Y\>/
syn match sassRegister /\<SR_NTID\.Z\>/
syn match sassRegister /\<SR_TID\.X\>/
syn match sassRegister /\<SR_TID\.Y\>/
syn match sassRegister /\<SR_TID\.Z\>/
syn keyword sassRegister SM_SHADER_TYPE SR_AFFINITY SR_CIRCULARQUEUEENTRYADDRESSHIGH SR_CIRCULARQUEUEENTRYADDRESSLOW SR_CIRCULARQUEUEENTRYINDEX SR_CLOCK SR_CLOCKHI SR_CLOCKLO SR_CTA_PARAM SR_CTXADDR SR_CirQueueIncrMinusOne SR_EQMASK
syn keyword sassRegister SR_GEMASK SR_GLOBALERRORSTATUS SR_GLOBALTIMERHI SR_GLOBALTIMERLO SR_GRIDID SR_GTMASK SR_HWTASKID SR_INVOCATION_ID SR_LANEID SR_LEMASK SR_LMEMHIOFF SR_LMEMLOSZ
syn keyword sassRegister SR_LTMASK SR_LWINLO SR_LWINSZ SR_MACHINE_ID_0 SR_MACHINE_ID_1 SR_MACHINE_ID_2 SR_MACHINE_ID_3 SR_NLATC SR_NTID SR_PM0 SR_PM1 SR_PM2
syn keyword sassRegister SR_PM3 SR_PM4 SR_PM5 SR_PM6 SR_PM7 SR_PRIM_TYPE SR_REGALLOC SR_SMEMBANKS SR_SMEMSZ SR_SWINLO SR_SWINSZ SR_THREAD_KILL
syn keyword sassRegister SR_TID SR_VIRTCFG SR_VIRTID SR_WARPERRORSTATUS SR_WARPERRORSTATUSCLEAR SR_Y_DIRECTION
syn match sassRegister /\<R\%(\d\+\|Z\)\>\|\<P[0-6T]\>/
syn match sassRegister /@!\?P[0-6T]\>/
syn match sassDirective /^\s*\.\%(chip\|kernel\|registers\|barriers\|shared\|stack\|call_stack\|param_bytes\|param\|constant\|data\|sched\|raw\|unchecked\|word\|half\)\>/
syn match sassLabel /\.L_[A-Za-z0-9_.$]\+\|`([^)]*)/
syn match sassLabel /^\s*[.A-Za-z_$][A-Za-z0-9_.$]*:/
syn region sassComment start=/\/\*/ end=/\*\//
syn match sassComment +//.*$+
hi def link sassComment Comment
hi def link sassLabel Label
hi def link sassDirective PreProc
hi def link sassRegister Identifier
hi def link sassConstant Constant
hi def link sassOpcode Function
hi def link sassSuffix Special
hi def link sassNumber Number
hi def link sassName Normal
hi def link sassPunctuation Delimiter
let b:current_syntax = 'sass'
