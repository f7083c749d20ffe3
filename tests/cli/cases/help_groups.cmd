tidemark help | head -7
tidemark help | grep -A3 -e "Why is" -e "Many"
