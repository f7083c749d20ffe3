# a build folder anywhere finds the Python hook of its source tree; a program that was moved out of it finds none
build=$(dirname "$(command -v tidemark)")
mkdir -p far/away/build/src && cp "$build/tidemark" "$build/source_tree" far/away/build/src/ && ln -s "$build"/libtidemark*.so* far/away/build/src/
far/away/build/src/tidemark objects -- true
rm far/away/build/src/source_tree
far/away/build/src/tidemark objects -- true
