tidemark flame --kind cpu train.tide
