autocmd BufNewFile,BufRead *.tgsi setfiletype tgsi
autocmd BufNewFile,BufRead *.nir setfiletype nir
autocmd BufNewFile,BufRead *.ir setfiletype nvir
autocmd BufNewFile,BufRead *.sass setfiletype sass
