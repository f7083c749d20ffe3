tidemark help peak
