d=$TIDE_SOURCE/tests/data/phaselog
tidemark phases $d/both.log phases.tide -o bars.svg --title 'Two modes'
grep -c 'cccccc\|80%, 80%, 80%\|rgb(80' bars.svg > /dev/null; head -c 5 bars.svg; echo
tidemark phases $d/both.log --visualize_peak | tail -2
head -c 4 memory_peak_visualization.png | tail -c 3; echo
tidemark phases --logs $d/both.log --visualize_peak --output peak.png | tail -2; head -c 4 peak.png | tail -c 3; echo
tidemark phases $d/both.log -o bars.html; grep -c '<svg' bars.html; grep -m1 -o '<td>FORWARD_PASS.*' bars.html
# thin parts have their label beside the bar, with a line; the limit is a line of each bar and in the legend; a PNG has two pixels per point
grep -o 'stroke:rgb(50%,\|stroke="rgb(50%,' bars.svg | wc -l; grep -c 'stroke-dasharray' bars.svg; head -c 24 peak.png | tail -c 8 | od -An -tu1
# a click on a part leads to the phases it comes from: every link has its target
grep -o 'href="#[^"]*' bars.html | cut -c8- | sort -u > links; wc -l < links; while read id; do grep -q "id=\"$id\"" bars.html || echo "no $id"; done < links
