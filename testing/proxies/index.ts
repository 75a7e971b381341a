export { proxiedName, type Proxy, startProxy } from "./proxies.ts";
