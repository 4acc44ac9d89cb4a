import subprocess
for c in ("cat /sys/devices/system/clocksource/clocksource0/*; cat /proc/uptime; dmesg | grep -iE 'tsc|clocksource' ",):
    print(subprocess.run(c, shell=True, capture_output=True, text=True, executable="/bin/bash").stdout, flush=True)
