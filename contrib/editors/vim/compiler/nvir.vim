" `:compiler nvir`, then `:make` compiles the file of the window and `:copen` lists what is wrong with it.
if exists('current_compiler')
  finish
endif
let current_compiler = 'nvir'

" .sass is assembled, everything else compiled.
let s:command = expand('%:e') ==# 'sass' ? 'asm' : 'compile'
execute 'CompilerSet makeprg=nvir\ ' . s:command . '\ --message-format\ short\ -o\ /dev/null\ $*\ %:S'
CompilerSet errorformat=%f:%l:%c:\ %trror:\ %m,%f:%l:%c:\ %tarning:\ %m,%f:%l:%c:\ %tote:\ %m,%-G%.%#
