mkdir d; tidemark info d
