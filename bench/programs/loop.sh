# loop.sh - milliseconds for a loop of the shell that starts nothing.
start=${EPOCHREALTIME/./}
sum=0
for ((i = 0; i < ${1:-100000}; i++)); do ((sum += i % 7)); done
end=${EPOCHREALTIME/./}
us=$((end - start))
printf '%d.%03d\n' $((us / 1000)) $((us % 1000))
