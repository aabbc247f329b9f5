#!/bin/sh
# Lays out all that the binary needs to run, as the root of an image: make-image-root.sh BINARY FOLDER
set -eu
binary="$1"
root="$2"
mkdir -p "$root/usr/local/bin" "$root/etc" "$root/var/lib/modelgate" "$root/tmp"
cp "$binary" "$root/usr/local/bin/modelgate"
chmod 755 "$root/usr/local/bin/modelgate"
# The C library and its loader, wherever this machine's kind of processor has them.
for library in $(ldd "$binary" | grep -o '/[^ ]*'); do
  mkdir -p "$root$(dirname "$library")"
  cp -L "$library" "$root$library"
done
echo 'modelgate:x:65532:65532::/var/lib/modelgate:/none' >"$root/etc/passwd"
echo 'modelgate:x:65532:' >"$root/etc/group"
# Names of this network go before those of the world's, as everywhere.
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
chmod 1777 "$root/tmp"
