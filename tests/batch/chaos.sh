#!/usr/bin/env bash
# chaos.sh HOLDFAST: a few faults of tools/chaos, each kind once, srun's in a Slurm of this test where one can be started.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/tests/support/script.sh"
source "$root/tests/support/slurm.sh"
(require_slurm) > words && start_slurm 1

"$root/tools/chaos" --holdfast "$holdfast" --seed 7 --count 9 > out.txt 2> err.txt || fail "tools/chaos: $(cat out.txt err.txt)"
[ "$(tail -n 1 out.txt)" = "9 faults, 0 lost, 0 different, 0 overspent" ] || fail "the last line is: $(tail -n 1 out.txt)"
for kind in rank mpirun signal checkpoint disk ledger publication session; do
    grep -q "^ *[0-9]* $kind .*as it should be" out.txt || fail "no fault of kind $kind: $(cat out.txt)"
done
[ -s words ] || grep -q '^ *[0-9]* srun ' out.txt || fail "Slurm runs, and srun was not killed: $(cat out.txt)"
"$root/tools/chaos" --holdfast "$holdfast" --seed 2 --count 2 --only checkpoint > out.txt 2>&1 || fail "a damaged checkpoint: $(cat out.txt)"
"$root/tools/chaos" --holdfast "$holdfast" --only comet > out.txt 2>&1 && fail "an unknown kind" ||
    grep -q 'comet: none of' out.txt || fail "$(cat out.txt)"

# A program that does not go on is found out.
cat > forgetful << END
#!/bin/bash
case " \$* " in
    *" --resume "*) exit 3 ;;
    *) exec "$holdfast" "\$@" ;;
esac
END
chmod +x forgetful
"$root/tools/chaos" --holdfast ./forgetful --only disk --count 1 > out.txt 2>&1 && fail "a program that does not go on passes: $(cat out.txt)"
grep -q '^1 faults, 1 lost' out.txt || fail "$(cat out.txt)"

((failures == 0)) && echo "every kind of fault once: nothing lost"
exit $((failures > 0))
