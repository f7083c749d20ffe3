# A mark of direction, a line separator, a control: none reaches the terminal.
printf '[{"ph":"X","cat":"cpu_op","name":"a\\u202eb\\u2028c\\u001b[2Jd\\u009be","pid":1,"tid":1,"ts":0,"dur":5}]' > x.json
tidemark export --to folded x.json
