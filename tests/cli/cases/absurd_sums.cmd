# Each figure is possible, their sum is not: said, instead of a sum that has wrapped.
awk 'BEGIN { print "["; for (i = 0; i < 4000; i++) printf "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"pid\":1,\"tid\":%d,\"ts\":0,\"dur\":2592000000000},\n", i; print "{}]" }' > times.json
awk 'BEGIN { print "["; for (i = 1; i <= 66000; i++) printf "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":%d,\"args\":{\"Device Type\":1,\"Device Id\":0,\"Addr\":4096,\"Bytes\":%s281474976710655}},\n", i, i % 2 ? "" : "-"; print "{}]" }' > sizes.json
tidemark ops times.json; tidemark memory sizes.json
