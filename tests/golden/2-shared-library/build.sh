$AECC $FLAGS -shared -fPIC -o libparts.so lib.ae
$AECC $FLAGS -shared -fPIC -o libplugin.so plugin.ae
$AECC $FLAGS -o prog main.ae -L. -lparts -ldl -rdynamic
