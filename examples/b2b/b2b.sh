#!/bin/sh
# Runs the B2B workload: b2b.sh [ORDERS] [no-validation] [no-audit] [no-recovery]. The project and its store are in the folder `b2b` of the current
# folder; an old one is removed. Needs curl.
set -eu
example=$(dirname "$0")
orders=50
project=b2b/orders
rm -rf b2b
mkdir -p b2b
cp -r "$example" "$project"
mkdir -p b2b/maps
cp -r "$example/../maps/shapes" b2b/maps/shapes
change() { sed "$2" "$project/flows/$1" >b2b/changed; mv b2b/changed "$project/flows/$1"; }
for switch in "$@"; do
    case $switch in
    no-validation)
        # Nothing reaches the nodes of the check.
        change receive.toml 's/^out = "check-order".*/out = "put-order"/; /^\[node.check-order\]/,/^$/d; /^\[node.refuse-order\]/,$d'
        ;;
    no-audit) change process.toml 's/^out = \["make-head".*/out = ["make-head", "make-order"]/; /^\[node.audit-order\]/,$d' ;;
    no-recovery) change receive.toml 's/^persistence = "yes"/persistence = "no"/' ;;
    *[!0-9]*) echo "there is no switch $switch: no-validation, no-audit, no-recovery" >&2; exit 2 ;;
    *) orders=$switch ;;
    esac
done
quayline file define B2B.ORDERS --record 62 --key 0:22 --store "$project/data"
quayline flow define --project "$project" 2>/dev/null
quayline flow run --project "$project" --until-idle 2000ms 2>b2b/flows &
flows=$!
trap 'kill "$flows" 2>/dev/null || true' EXIT
for number in $(seq "$orders"); do
    sed "s/AP-2026-0815/AP-2026-$number/" "$example/../maps/data/order.cxml.xml" >b2b/order.xml
    curl -s -f --retry 20 --retry-delay 1 --retry-connrefused --data-binary @b2b/order.xml http://127.0.0.1:8471/orders
done
wait "$flows"
trap - EXIT
cat b2b/flows
quayline queue depth --store "$project/data" | grep '^B2B'
quayline file facts B2B.ORDERS --store "$project/data" | grep ' records, '
