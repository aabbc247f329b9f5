#!/bin/sh
# Creates the root file system of an image with everything the binary needs: make-image-root.sh BINARY FOLDER
set -eu
binary="$1"
root="$2"
mkdir -p "$root/usr/local/bin" "$root/etc" "$root/var/lib/modelgate" "$root/tmp"
cp "$binary" "$root/usr/local/bin/modelgate"
chmod 755 "$root/usr/local/bin/modelgate"
# The C library and its loader; their paths depend on the architecture.
for library in $(ldd "$binary" | grep -o '/[^ ]*'); do
  mkdir -p "$root$(dirname "$library")"
  cp -L "$library" "$root$library"
done
echo 'modelgate:x:65532:65532::/var/lib/modelgate:/none' >"$root/etc/passwd"
echo 'modelgate:x:65532:' >"$root/etc/group"
# /etc/hosts before DNS, the usual order.
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
chmod 1777 "$root/tmp"
chmod 770 "$root/var/lib/modelgate"
