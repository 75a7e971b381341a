import type { Engine } from "@atelier/worker/engines";

/** An engine whose process is gone (kill -9) as soon as a job with this prompt is at work on a server. */
export function dieOn(prompt: string, engine: Engine): Engine {
  return {
    ...engine,
    run: (task, context) => {
      if (task.params["prompt"] !== prompt) return engine.run(task, context);
      return engine.run(task, {
        ...context,
        onProgress(_fraction, stage) {
          if (stage !== "preparing") process.kill(process.pid, "SIGKILL");
        },
      });
    },
  };
}
