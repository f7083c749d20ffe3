tidemark allocator train.tide
