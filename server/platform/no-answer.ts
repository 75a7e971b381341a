/** What the network and the platform say of a call that got no answer, in plain words. */
const plainCodes: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "the name of the host is not known",
  EAI_AGAIN: "the name of the host cannot be looked up now",
  ECONNRESET: "the connection was cut",
  UND_ERR_SOCKET: "the connection was cut",
  EHOSTUNREACH: "there is no way to the host",
  ENETUNREACH: "there is no way to the network",
  ETIMEDOUT: "no connection within the time",
  UND_ERR_CONNECT_TIMEOUT: "no connection within the time",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is signed by an authority that is not known here",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is signed by an authority that is not known here",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate is signed by an authority that is not known here",
  // After the longer one, which a text is searched for first.
  UNABLE_TO_GET_ISSUER_CERT: "its certificate is signed by an authority that is not known here",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host",
  CERT_NOT_YET_VALID: "its certificate is not valid yet, or the clock of this machine is wrong",
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: "it wants a certificate of those who call it",
  ERR_SSL_WRONG_VERSION_NUMBER: "it speaks no TLS there",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "it speaks no TLS there",
  HPE_INVALID_CONSTANT: "it speaks no HTTP there",
};

/** Why no answer came, for people. */
export function explain(error: unknown): string {
  for (let at = error, depth = 0; at instanceof Error && depth < 6; at = at.cause, depth += 1) {
    if (at.name === "TimeoutError") return "no answer within the time";
    const first: unknown = at instanceof AggregateError ? at.errors[0] : at;
    const code = first instanceof Error && "code" in first ? String(first.code) : "";
    const known = plainCodes[code];
    if (known !== undefined) return `${known}: ${code}`;
    if (at.cause !== undefined) continue;
    const text = (first instanceof Error ? first.message : at.message) || at.name;
    const named = Object.keys(plainCodes).find((one) => text.includes(one));
    return named === undefined ? text : `${plainCodes[named]}: ${named}`;
  }
  return String(error);
}

const untrusted = /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(?:VERIFY|GET)_)/;
const ofConnection = /^(?:E[A-Z]+|EAI_AGAIN|UND_ERR_(?:SOCKET|CONNECT_TIMEOUT))$/;

/**
 * Why no answer came, by the code of the failure, where that is more than "away": a certificate, or what speaks another
 * protocol; empty for others.
 */
export function faultOfAddress(code: string): string {
  const words = ofConnection.test(code) ? undefined : plainCodes[code];
  if (words === undefined) return "";
  const advice = untrusted.test(code) ? "; name its authority in NODE_EXTRA_CA_CERTS of the worker" : "";
  return `${words} (${code})${advice}`;
}
