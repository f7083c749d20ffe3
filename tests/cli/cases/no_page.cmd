tidemark leaks train.tide -o leaks.html; ls *.html 2>/dev/null
