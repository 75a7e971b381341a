import type { ComfyServer } from "./comfy-server.ts";
import { openSocket, type ServerSocket, type SocketHandlers } from "./socket.ts";

const firstPauseMs = 500;
const longestPauseMs = 8_000;

/** A socket that is opened again whenever it breaks, after growing pauses. */
export interface KeptSocket {
  /** Resolves when the first one is open or cannot be opened. */
  readonly settled: Promise<void>;
  /** False from a break until the next try to open it. */
  isUp(): boolean;
  /** Tells that it works, so that the next pause is a short one. */
  praise(): void;
  close(): void;
}

export function keepSocket(server: ComfyServer, clientId: string, handlers: SocketHandlers): KeptSocket {
  let pauseMs = firstPauseMs;
  let isUp = true;
  let timer: NodeJS.Timeout | undefined;
  const open = (): ServerSocket => {
    isUp = true;
    return openSocket(server, clientId, { ...handlers, onClose });
  };
  const onClose = () => {
    isUp = false;
    timer = setTimeout(() => {
      socket = open();
    }, pauseMs);
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    handlers.onClose();
  };
  let socket = open();
  return {
    settled: socket.settled,
    isUp: () => isUp,
    praise() {
      pauseMs = firstPauseMs;
    },
    close() {
      clearTimeout(timer);
      socket.close();
    },
  };
}
