#!/bin/sh
# Lays out the file system of the image: the binary, the libraries that it is linked with, and the
# files that the C library reads to resolve host names.
#
#   deploy/docker/rootfs.sh BINARY FOLDER
set -eu

binary=$1
root=$2

mkdir -p "$root/etc/bardo" "$root/tmp"
install -d -m 0700 "$root/var/lib/bardo"
chmod 1777 "$root/tmp"
install -D -m 0755 "$binary" "$root/usr/bin/bardo-gateway"

# Lines such as `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x…)` and the loader's `/lib64/… (0x…)`.
libraries=$(ldd "$binary" | tr -s '\t ' '\n' | grep '^/')
for library in $libraries; do
    install -D -m 0755 "$library" "$root$library"
done

printf 'root:x:0:0::/:/none\nbardo:x:65532:65532::/var/lib/bardo:/none\n' >"$root/etc/passwd"
printf 'root:x:0:\nbardo:x:65532:\n' >"$root/etc/group"
printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"
