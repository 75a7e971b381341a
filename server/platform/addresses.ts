import { BlockList, isIP, isIPv6 } from "node:net";

const mappedPrefix = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/** The bare address of "1.2.3.4:80", "[::1]:80", "fe80::1%eth0" or "::ffff:1.2.3.4"; null when there is none. */
export function bareAddress(text: string): string | null {
  const trimmed = text.trim();
  const inner = /^\[(.+)\](?::\d+)?$/.exec(trimmed)?.[1] ?? /^([\d.]+):\d+$/.exec(trimmed)?.[1] ?? trimmed;
  const address = inner.replace(/%.*$/, "").replace(mappedPrefix, "");
  return isIP(address) === 0 ? null : address;
}

const familyOf = (address: string) => (isIPv6(address) ? "ipv6" : "ipv4");

function addRange(ranges: BlockList, text: string): void {
  const [address = "", bits, ...rest] = text.split("/");
  const isRange = isIP(address) !== 0 && rest.length === 0 && (bits === undefined || /^\d{1,3}$/.test(bits));
  if (!isRange) throw new RangeError(`${text} is no address and no range`);
  if (bits === undefined) ranges.addAddress(address, familyOf(address));
  else ranges.addSubnet(address, Number(bits), familyOf(address));
}

/** Whether a text is an IP address or a CIDR range such as 10.0.0.0/8. */
export function isAddressRange(text: string): boolean {
  try {
    addRange(new BlockList(), text);
    return true;
  } catch {
    return false;
  }
}

/** Parses addresses and CIDR ranges; throws RangeError for anything else. */
export function parseRanges(texts: readonly string[]): BlockList {
  const ranges = new BlockList();
  for (const text of texts) addRange(ranges, text);
  return ranges;
}

/** Whether an address is in one of the ranges. */
export function isInRanges(ranges: BlockList, address: string): boolean {
  const bare = bareAddress(address);
  return bare !== null && ranges.check(bare, familyOf(bare));
}

interface Hops {
  /** Address of the socket. */
  readonly peer: string;
  /** X-Forwarded-For as received. */
  readonly forwardedFor: string | undefined;
  readonly proxies: BlockList;
}

/**
 * The address of the client: the first one that is not a trusted proxy, read from the socket outwards (X-Forwarded-For
 * from the right). A proxy that forwards something unreadable counts as the client itself.
 */
export function clientAddress({ peer, forwardedFor = "", proxies }: Hops): string {
  let client = bareAddress(peer) ?? peer;
  for (const hop of forwardedFor.split(",").toReversed()) {
    const next = isInRanges(proxies, client) ? bareAddress(hop) : null;
    if (next === null) break;
    client = next;
  }
  return client;
}

/**
 * The address of the visitor in the X-Forwarded-For of a platform for functions, which has no socket to be read: what a client
 * sends stands on the left, and the platform adds on the right. So the last one counts that is not a trusted proxy.
 */
export function visitorAddress(forwardedFor: string, proxies: BlockList): string {
  const hops = forwardedFor.split(",");
  const peer = hops.pop() ?? "";
  return clientAddress({ peer, forwardedFor: hops.join(","), proxies });
}

/** An address as those who hold it are counted, and how many times a limit of one address it may use. */
interface Network {
  readonly name: string;
  readonly times: number;
}

/**
 * The networks that an address counts for: of IPv4 itself, of IPv6 the 64 bits that one holder has, and the 48 that one may
 * have as well. Empty for what is no address.
 */
export function networksOf(text: string): readonly Network[] {
  const address = bareAddress(text);
  if (address === null) return [];
  if (!isIPv6(address)) return [{ name: address, times: 1 }];
  // In the one spelling of URLs, without dotted parts.
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const [first, last] = [head, tail ?? ""].map((part) => part.split(":").filter(Boolean));
  const gap = Array.from({ length: 8 - (first?.length ?? 0) - (last?.length ?? 0) }, () => "0");
  const groups = [...(first ?? []), ...gap, ...(last ?? [])];
  return [
    { name: `${groups.slice(0, 4).join(":")}::/64`, times: 1 },
    { name: `${groups.slice(0, 3).join(":")}::/48`, times: 4 },
  ];
}

/** The name of a Host header without its port, in lower case; null when the header is not valid. */
function hostNameOf(host: string): string | null {
  return /^(\[[\da-f:.]+\]|[\w.-]+)(?::\d+)?$/i.exec(host)?.[1]?.toLowerCase() ?? null;
}

/** An address of IPv6 without the brackets that it has in a URL. */
export const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, "$1");

/** Whether a server that listens at this HOST is reached from its own machine alone. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || withoutBrackets(host) === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

const loopbackNames = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Whether a Host header names this machine itself, at any port. */
export function namesLoopback(host: string): boolean {
  return loopbackNames.has(hostNameOf(host) ?? "");
}

/**
 * Whether the studio answers to a Host header. Bound to loopback it knows its names: a page of another site that points
 * its own name to 127.0.0.1 (DNS rebinding) would otherwise be of the same origin.
 */
export function isKnownHost(env: { HOST: string; APP_URL?: string | undefined }, host: string): boolean {
  if (!isLoopback(env.HOST) || namesLoopback(host)) return true;
  return env.APP_URL !== undefined && hostNameOf(host) === new URL(env.APP_URL).hostname;
}

/** The studio's own origin: APP_URL's, else this machine's. */
export function originOf(env: { PORT: number; APP_URL?: string | undefined }): string {
  return env.APP_URL ? new URL(env.APP_URL).origin : `http://localhost:${env.PORT}`;
}

/**
 * Set by the front door alone: the method of a request that no handler can be given, such as TRACE. The request is handed
 * on as OPTIONS, and refused with what the address allows.
 */
export const refusedMethodHeader = "x-atelier-refused-method";

/** In an answer of a handler, its `Content-Length` for the front door: the framework drops the header itself. */
export const lengthHeader = "x-atelier-length";

const withoutSlash = ({ href }: URL) => href.replace(/\/$/, "");

/** Whether two names of providers of sign-ins differ in nothing but a slash at the end. */
export const isSameIssuer = (one: URL, other: URL): boolean => withoutSlash(one) === withoutSlash(other);
