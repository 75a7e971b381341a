import { readFileSync } from "node:fs";
import path from "node:path";
import { ScaledJob } from "@kubernetes-models/keda/keda.sh/v1alpha1/ScaledJob";
import { ScaledObject } from "@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject";
import { TriggerAuthentication } from "@kubernetes-models/keda/keda.sh/v1alpha1/TriggerAuthentication";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { Service } from "kubernetes-models/v1/Service";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { parseFlags } from "../../worker/args.ts";

const folder = path.resolve(import.meta.dirname, "../../deploy/kubernetes");
const kinds = { Deployment, Service, ScaledJob, ScaledObject, TriggerAuthentication };

/** Each object of a file. Throws on what is no YAML. */
function read(file: string): Record<string, unknown>[] {
  return parseAllDocuments(readFileSync(path.join(folder, file), "utf8")).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });
}

/** What the schema of Kubernetes or KEDA has against an object; null for nothing. */
function faultOf(object: Record<string, unknown>): string | null {
  const kind = kinds[String(object["kind"]) as keyof typeof kinds];
  // Safe: whether it is one is what is asked.
  const model = new kind(object as never);
  try {
    model.validate();
    return null;
  } catch (error) {
    return String(error);
  }
}

test.each([
  ["studio.yaml", ["Deployment", "Service", "Deployment"]],
  ["gpu-worker.yaml", ["Deployment"]],
  ["keda-metrics-api.yaml", ["TriggerAuthentication", "ScaledObject"]],
  ["keda-prometheus.yaml", ["ScaledObject"]],
  ["keda-postgresql.yaml", ["TriggerAuthentication", "ScaledObject"]],
  ["keda-jobs.yaml", ["ScaledJob"]],
])("S8 %s fits the schemas of Kubernetes and KEDA", (file, expected) => {
  const objects = read(file);
  expect(objects.map(({ kind }) => kind)).toEqual(expected);
  expect(objects.map(faultOf)).toEqual(objects.map(() => null));
});

test("S8 the schemas find a fault", () => {
  const [object] = read("keda-prometheus.yaml");
  expect(faultOf({ ...object, spec: { maxReplicaCount: "many" } })).not.toBeNull();
  const [deployment] = read("gpu-worker.yaml");
  expect(faultOf({ ...deployment, spec: { replicas: "one" } })).not.toBeNull();
});

test("S8 the job of an autoscaler starts the worker with flags that it takes", () => {
  const [job] = read("keda-jobs.yaml");
  const text = JSON.stringify(job);
  const args: unknown = JSON.parse(/"args":(\[[^\]]*--once[^\]]*\])/.exec(text)?.[1] ?? "[]");
  const [, ...flags] = args as string[];
  expect(parseFlags(flags).flags?.once).toEqual({ queue: "gpu-high", waitMs: 60_000 });
});
