export { testCertificate } from "./certificate.ts";
export { startConnectProxy, type ConnectProxy } from "./connect-proxy.ts";
export { openLine, type Line, type LineState } from "./line.ts";
