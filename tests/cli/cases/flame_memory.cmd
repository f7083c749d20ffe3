tidemark flame -k memory train.tide
tidemark flame -k memory --by op --allocated --hot train.tide
