printf '\x80\x04cos\nsystem\n(S"touch ran"\ntR.' > x.pickle
tidemark peak x.pickle || (ls; exit 1)
