"""The main job in file managers over SMB, on a screen that nobody sees: scripts of bash for scripts/check/smb.

Each copies a model and a preset in, waits for the result, and takes four pictures, which become one.
"""
import os
import subprocess

SESSION = ["xvfb-run", "-a", "-s", "-screen 0 780x440x24", "dbus-run-session", "--"]

BEGIN = """
set -eu
appears() { for _ in $(seq 240); do [ -e "$1" ] && return 0; sleep 0.25; done; echo "$1 does not appear"; return 1; }
# A window as large as the screen.
fill() {
  for _ in $(seq 120); do window=$(xdotool search --onlyvisible --class "$1" | tail -1) && [ -n "$window" ] && break; sleep 0.25; done
  sleep 2; xdotool windowsize "$window" 780 440 windowmove "$window" 0 0
}
picture() { timeout 20 import -window root "$WORK/$1.png"; }
openbox &
"""

END = """
cd "$WORK"
convert '(' 1.png 2.png +append ')' '(' 3.png 4.png +append ')' -append strip.png
cwebp -quiet -q 84 strip.png -o "$IMAGE"
"""

NAUTILUS = """
url=smb://$USER@$PLACE
printf 'WORKGROUP\\n%s\\n' "$PASSWORD" | gio mount "$url"
nautilus --gapplication-service & sleep 3
call() { gdbus call --session --timeout 120 --dest org.gnome.Nautilus --object-path /org/gnome/Nautilus/FileOperations2 --method "org.gnome.Nautilus.FileOperations2.$1" "${@:2}"; }
shot() {
  nautilus --new-window "$url/$1" & manager=$!
  fill nautilus; sleep 40; picture "$2"
  nautilus --quit || true; kill $manager 2>/dev/null || true; sleep 1
}
call CopyURIs "['file://$SOURCE/model/helmet']" "$url/rawmodels" '{}'
appears "$DRIVE/rawmodels/helmet/FlightHelmet.gltf"
"$ASSETFS" wait --quiet --timeout 90s "$DRIVE/rawmodels/helmet"
shot rawmodels 1
shot rawmodels/helmet 2
call CopyURIs "['file://$SOURCE/preset/half.json']" "$url/rawmodels/helmet/optimize" '{}'
appears "$DRIVE/rawmodels/helmet/optimize/half.json"
"$ASSETFS" wait --quiet --timeout 300s "$DRIVE/rawmodels/helmet/optimize/half.json"
shot rawmodels/helmet/optimize 3
shot rawmodels/helmet/optimize/half 4
"""

# The part of KDE's daemon that hears of changes in network folders runs in every session of KDE.
DOLPHIN = """
url=smb://$USER:${PASSWORD// /%20}@$PLACE
kded5 > "$WORK/kded.log" 2>&1 & sleep 3
gdbus call --session --dest org.kde.kded5 --object-path /kded --method org.kde.kded5.loadModule smbwatcher
press() { for key in "$@"; do xdotool key --delay 60 "$key"; sleep 0.6; done; }
go() { press F6 ctrl+a; xdotool type --delay 10 "$1"; press Return; sleep 5; }
dolphin --new-window "$SOURCE/model" > "$WORK/dolphin.log" 2>&1 & manager=$!
fill dolphin; sleep 2
# No warning that this is root, and no list of places.
xdotool mousemove 757 59 click 1 mousemove 600 330; sleep 1; press F9
press ctrl+a ctrl+c; go "$url/rawmodels"; press ctrl+v
appears "$DRIVE/rawmodels/helmet/FlightHelmet.gltf"
"$ASSETFS" wait --quiet --timeout 90s "$DRIVE/rawmodels/helmet"
picture 1
go "$url/rawmodels/helmet"; picture 2
go "$SOURCE/preset"; press ctrl+a ctrl+c; go "$url/rawmodels/helmet/optimize"; press ctrl+v
appears "$DRIVE/rawmodels/helmet/optimize/half.json"
"$ASSETFS" wait --quiet --timeout 300s "$DRIVE/rawmodels/helmet/optimize/half.json"
# It shows the result by itself.
sleep 8; picture 3
go "$url/rawmodels/helmet/optimize/half"; picture 4
kill $manager
"""

MANAGERS = {"nautilus": BEGIN + NAUTILUS + END, "dolphin": BEGIN + DOLPHIN + END}


def in_session(work, session, script, variables=None):
    """Runs a script of bash in a session of a desktop, with a home folder below `work`."""
    home = work / "home"
    (home / "run").mkdir(parents=True, exist_ok=True)
    (home / "run").chmod(0o700)
    variables = {name: str(value) for name, value in (variables or {}).items()}
    environment = {**os.environ, **variables, "HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run"), "XDG_CACHE_HOME": str(home / ".cache")}
    return subprocess.run([*session, "bash", "-c", script], capture_output=True, text=True, env=environment, timeout=900)
