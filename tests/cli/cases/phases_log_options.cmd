d=$TIDE_SOURCE/tests/data/phaselog
tidemark phases --logs $d/efficient.log --device_memory 8GiB --model_size 1938739200B --use_actual_sizes --kv 22,4,64,2048,bf16
tidemark phases $d/efficient.log $d/both.log --json --bytes-per-param 4 | grep -E '"(title|peak_bytes|fits|model|parameters)"'
# a summary far into a log, of one rank among several
{ for i in $(seq 3000); do printf '%06d some line of a training log\r' $i; done; echo; printf '\033[32mgreen\033[0m\n[1,0]<stdout>:rank zero\n'
  sed -n '/=== Memory/,$p' $d/efficient.log | sed 's/^/[1,0]<stdout>:/; a noise of another program'; } | gzip > late.log.gz
tidemark phases late.log.gz --capacity 12GiB | grep -E 'Section|Usage|viable'
# 0 bytes is a size: SGD has no state, inference no gradients
tidemark phases $d/efficient.log --optimizer-size 0 --gradients_size 0 | grep -A3 -E -- '--- (Optimizer|Gradients) S'
# options without effect on sizes are refused
for o in --tracker --sum --by=annotation; do tidemark phases $d/efficient.log $o 2>&1 | head -1; done
tidemark phases phases.tide --tracker --capacity 1GiB 2>&1 | head -1
tidemark phases $d/efficient.log --fail-if 'usage>nan%' 2>&1 | head -1
# a runtime's log lacks circular buffers
view='numBanks: 64, totalBytesPerBank: 1.270 MB, totalBytesAllocatedPerBank: 0.100 MB, totalBytesFreePerBank: 1.170 MB, largestContiguousBytesFreePerBank: 1.170 MB'
state() { echo "Always | DEBUG | Device memory state before submit"; for k in DRAM L1; do echo "Always | DEBUG | Device $k memory state: MemoryView{$view}"; done; }
{ state; echo 'RuntimeTTNN | DEBUG | Executing operation: %6 = "ttnn.add"(%2) <{x = 1}> : (tensor<4xf32>) -> tensor<4xf32> loc("add.3")'; state; } > runtime.log
tidemark phases runtime.log | grep L1
