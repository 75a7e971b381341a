import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign } from "node:crypto";
import type { Signer } from "@trustnxt/c2pa-ts/cose";
import * as x509 from "@peculiar/x509";
import { AppError } from "../platform/index.ts";

/** PEM texts: the signer's certificate with those above it, and the private key (PKCS #8). */
export interface SigningPair {
  readonly certificates: string;
  readonly key: string;
}

const curve = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
/**
 * Not from now on: a machine's clock may be wrong when the studio makes its first picture, as without a battery, and what begins later
 * or has ended by the right time would sign nothing then.
 */
const validity = {
  notBefore: new Date("2020-01-01T00:00:00Z"),
  notAfter: new Date("2080-01-01T00:00:00Z"),
  signingAlgorithm: curve,
};
/** What the profile of C2PA asks of a signer's certificate: to sign documents, or to protect e-mail as older readers ask. */
const usages = ["1.3.6.1.5.5.7.3.36", "1.3.6.1.5.5.7.3.4"];

/**
 * A key (ES256) with a certificate that fits the profile of C2PA, which allows no certificate that signed itself: so a root is
 * made as well, whose own key is thrown away.
 */
export async function makeSigningPair(): Promise<SigningPair> {
  const [root, own] = await Promise.all([makeKeys(), makeKeys()]);
  const { KeyUsageFlags: flags } = x509;
  const name = `Atelier studio ${randomBytes(4).toString("hex")}`;
  const above = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name} root, O=Atelier`,
    keys: root,
    ...validity,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(flags.keyCertSign | flags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(root.publicKey),
    ],
  });
  const certificate = await x509.X509CertificateGenerator.create({
    subject: `CN=${name}, O=Atelier`,
    issuer: above.subject,
    publicKey: own.publicKey,
    signingKey: root.privateKey,
    ...validity,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(flags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(usages, false),
      await x509.AuthorityKeyIdentifierExtension.create(root.publicKey),
      await x509.SubjectKeyIdentifierExtension.create(own.publicKey),
    ],
  });
  const bytes = Buffer.from(await crypto.subtle.exportKey("pkcs8", own.privateKey)).toString("base64");
  return {
    certificates: `${certificate.toString("pem")}\n${above.toString("pem")}\n`,
    key: `-----BEGIN PRIVATE KEY-----\n${bytes}\n-----END PRIVATE KEY-----\n`,
  };
}

function makeKeys() {
  return crypto.subtle.generateKey(curve, true, ["sign", "verify"]);
}

/** Numbers of COSE by the curve of the key. */
const algorithms: Readonly<Record<string, { readonly cose: number; readonly hash: string | null }>> = {
  prime256v1: { cose: -7, hash: "sha256" },
  secp384r1: { cose: -35, hash: "sha384" },
  ed25519: { cose: -8, hash: null },
};

/** What signs manifests, with what is known of its certificate. */
export interface StudioSigner extends Signer {
  /** SHA-256 of the certificate, lower-case hex. */
  readonly fingerprint: string;
  readonly certificates: string;
  readonly validUntil: Date;
}

/** Throws `bad_request` with a sentence for the operator when key and certificates cannot sign a manifest. */
export async function readSigner({ certificates, key }: SigningPair): Promise<StudioSigner> {
  const chain = readChain(certificates);
  const privateKey = readKey(key);
  const [certificate, ...above] = chain;
  if (!certificate) throw refused("SIGNING_CERTIFICATES has no certificate in PEM.");
  const algorithm =
    algorithms[privateKey.asymmetricKeyDetails?.namedCurve ?? privateKey.asymmetricKeyType ?? ""];
  if (!algorithm) throw refused("SIGNING_KEY must be a key on the curve P-256 or P-384, or an Ed25519 key.");
  const ofKey = createPublicKey(privateKey).export({ type: "spki", format: "der" });
  if (!ofKey.equals(Buffer.from(certificate.publicKey.rawData)))
    throw refused("The first certificate of SIGNING_CERTIFICATES belongs to another key than SIGNING_KEY.");
  refuseUnfit(certificate);
  return {
    certificate,
    chainCertificates: above,
    algorithm: algorithm.cose,
    fingerprint: Buffer.from(await certificate.getThumbprint("SHA-256")).toString("hex"),
    certificates,
    validUntil: certificate.notAfter,
    // The library's own signer writes signatures of curves in a form that other readers refuse.
    sign: async (payload) => sign(algorithm.hash, payload, { key: privateKey, dsaEncoding: "ieee-p1363" }),
  };
}

const pemBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

function readChain(certificates: string): x509.X509Certificate[] {
  try {
    return (certificates.match(pemBlock) ?? []).map((pem) => new x509.X509Certificate(pem));
  } catch (cause) {
    throw refused("SIGNING_CERTIFICATES cannot be read.", cause);
  }
}

function readKey(key: string): KeyObject {
  try {
    return createPrivateKey(key);
  } catch (cause) {
    throw refused("SIGNING_KEY cannot be read: it must be a private key in PEM without a password.", cause);
  }
}

/** The rules of C2PA that a certificate most often fails. */
function refuseUnfit(certificate: x509.X509Certificate): void {
  if (certificate.issuer === certificate.subject)
    throw refused("The certificate has signed itself, which C2PA does not allow: it needs one above it.");
  const usage = certificate.getExtension(x509.ExtendedKeyUsageExtension)?.usages ?? [];
  if (usage.length === 0)
    throw refused(
      "The certificate has no extended key usage; C2PA asks for document signing or e-mail protection.",
    );
}

/** Throws `bad_request` for a signer whose certificate has ended, or begins later. */
export function requireInTime({ certificate }: Pick<StudioSigner, "certificate">): void {
  if (certificate.notAfter < new Date())
    throw refused(`The certificate ended on ${certificate.notAfter.toISOString().slice(0, 10)}.`);
  if (certificate.notBefore > new Date())
    throw refused(`The certificate begins on ${certificate.notBefore.toISOString().slice(0, 10)}.`);
}

function refused(message: string, cause?: unknown): AppError {
  return new AppError("bad_request", message, { cause });
}
