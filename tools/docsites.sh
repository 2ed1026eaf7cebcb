#!/usr/bin/env bash
# Unpacks documentation sites from Debian packages into the given directory. It installs nothing: apt fetches the packages
# and dpkg-deb unpacks them. Needs Debian or Ubuntu.
set -euo pipefail
dir=${1:?usage: docsites.sh DIRECTORY}
packages="python3-doc python-django-doc sqlite3-doc postgresql-doc git-doc"
for tool in apt-get apt-cache dpkg-deb; do
  command -v "$tool" >/dev/null || { echo "docsites.sh: $tool is missing; the sites come as packages of Debian" >&2; exit 1; }
done
mkdir -p "$dir/packages"
dir=$(cd "$dir" && pwd)
cd "$dir/packages"
for package in $packages; do
  [ -e "$dir/$package.done" ] && continue
  # Some packages are empty and depend on the package of a specific version.
  versions=$(apt-cache depends --no-recommends --no-suggests "$package" | sed -n 's/^ *Depends: \(.*-doc.*\)/\1/p')
  apt-get download -q "$package" $versions >&2
  for name in $package $versions; do
    dpkg-deb -x "${name}"_*.deb "$dir"
  done
  touch "$dir/$package.done"
done
