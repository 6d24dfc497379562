#!/bin/sh
# Runs one sample over a store of its own: sample.sh 1|2b|3|4|5. The store is the folder `sample-N` of the current folder; an old one is removed.
set -eu
sample=${1:?name a sample: 1, 2b, 3, 4 or 5}
case $sample in 1 | 2b | 3 | 4 | 5) ;; *) echo "there is no sample $sample: 1, 2b, 3, 4 or 5" >&2; exit 2 ;; esac
project=$(dirname "$0")
store=sample-$sample
file=DATA.IA13.VSAM.KSDS1
queue=SAMPLE$(echo "$sample" | tr b B)
message=$store.message
rm -rf "$store"
trap 'rm -f "$message" "$store.records"' EXIT

# The file of the report: 65,145 records of 32 bytes with a key of 8.
quayline measure flow "$project" --write-records "$store.records"
quayline file define "$file" --record 32 --key 0:8 --store "$store"
quayline file load "$file" "$store.records" --sorted --store "$store" 2>/dev/null
# The messages of sample 1 stay on their queue.
quayline queue define SAMPLE1.RECORD --depth-max 100000 --store "$store"
quayline flow define --project "$project" --store "$store" 2>/dev/null

put() {
    printf '%s' "$2" >"$message"
    quayline queue put "$1.REQUEST" "$message" --store "$store" >/dev/null
}
# The key of a record of the file: number $1 of $2 keys that are spread over it.
spread() { printf 'REC%05d' $(($1 * 65145 / $2)); }
write() {
    for number in $(seq 0 26); do
        key=$(printf 'NEW%05d' $((number * 2412)))
        put SAMPLE2B "<msg_SampleStruct><intField1>000</intField1><intField2>-4</intField2><charField1>$key</charField1><charField2>THE ????? RECORD</charField2></msg_SampleStruct>"
    done
}
position() { echo "<VSAM><Request><FileName>/'$file'</FileName><Position><Key>$1</Key></Position></Request></VSAM>"; }
run() { quayline flow run "$1" --project "$project" --store "$store" --until-idle 500ms; }

case $sample in
1) put "$queue" "<VSAM><Request><FileName>/'$file'</FileName></Request></VSAM>" ;;
2b) write ;;
3) for number in $(seq 0 28); do put "$queue" "$(position "$(spread "$number" 29)")"; done ;;
4) for number in $(seq 0 26); do put "$queue" "$(position "$(spread "$number" 27)")"; done ;;
5)
    # The records that sample 2B adds.
    write
    run sample2b 2>/dev/null
    for number in $(seq 0 26); do
        key=$(printf 'NEW%05d' $((number * 2412)))
        put "$queue" "<VSAM><Request><Position><Mode>KEY_EQ</Mode><Key>$key</Key><KeyType>Parser String</KeyType></Position></Request></VSAM>"
    done
    ;;
esac
run "sample$sample"
quayline queue depth --store "$store" | grep "^$queue\." | grep -v REQUEST
quayline file facts "$file" --store "$store" | grep " records, "
