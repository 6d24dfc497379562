#!/bin/sh
# The check digit of GS1 for the digits of a GTIN, GLN or SSCC, as a function of maps: --function check-digit=gs1-check-digit.sh
# Requests and answers are frames of docs/reference/artifact-protocol.md.

check_digit() {
    sum=0
    weight=3
    rest=$1
    while [ -n "$rest" ]; do
        digit=${rest#"${rest%?}"}
        rest=${rest%?}
        sum=$((sum + digit * weight))
        weight=$((4 - weight))
    done
    echo $(((10 - sum % 10) % 10))
}

while read -r verb count; do
    value=
    while [ "$count" -gt 0 ]; do
        read -r length
        if [ "$length" != - ]; then
            IFS= read -r value
        fi
        count=$((count - 1))
    done
    case "$verb $value" in
    hello*) printf 'ok 0\n' ;;
    "call "*[!0-9]*) printf 'throw 1\n28\nthe argument has other signs\n' ;;
    call*) printf 'ok 1\n1\n%s\n' "$(check_digit "$value")" ;;
    esac
done
