for file in main parts note; do
    case $file in note) source=note.c ;; *) source=$file.ae ;; esac
    $AECC $FLAGS -c -o $file.o $source
done
$AECC $FLAGS -o prog main.o parts.o note.o
