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

/** Each object of a text. Throws on what is no YAML. */
function parse(text: string): Record<string, unknown>[] {
  return parseAllDocuments(text).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });
}

const read = (file: string) => parse(readFileSync(path.join(folder, file), "utf8"));

interface Findings {
  /** What the schema has against the object; null for nothing. */
  readonly fault: string | null;
  /** Fields that the schema never reads: a cluster drops or refuses them. */
  readonly unknown: readonly string[];
}

/** What the schema of Kubernetes or KEDA finds in an object. */
function check(object: Record<string, unknown>): Findings {
  const kind = kinds[String(object["kind"]) as keyof typeof kinds];
  const unread = new Set<string>();
  const watch = (value: unknown, place: string): unknown => {
    if (typeof value !== "object" || value === null) return value;
    const placeOf = (key: string) => `${place}/${key}`;
    const entries = Object.entries(value).map(([key, item]) => [key, watch(item, placeOf(key))] as const);
    for (const [key] of entries) unread.add(placeOf(key));
    return new Proxy(Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries), {
      get(target, key, receiver): unknown {
        unread.delete(placeOf(String(key)));
        return Reflect.get(target, key, receiver);
      },
    });
  };
  const watched = watch(object, "");
  let fault: string | null = null;
  try {
    // A model would copy the object, so that the schema would read the copy.
    kind.prototype.validate.call(watched as never);
  } catch (error) {
    fault = String(error);
  }
  return { fault, unknown: [...unread] };
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
  expect(objects.map(check)).toEqual(objects.map(() => ({ fault: null, unknown: [] })));
});

test("S8 the schemas find a fault", () => {
  const [object] = read("keda-prometheus.yaml");
  expect(check({ ...object, spec: { maxReplicaCount: "many" } }).fault).not.toBeNull();
  const [deployment] = read("gpu-worker.yaml");
  expect(check({ ...deployment, spec: { replicas: "one" } }).fault).not.toBeNull();
});

test.each([
  ["studio.yaml", "readOnlyRootFilesystem", "readOnlyRootFileSystem"],
  ["studio.yaml", "failureThreshold", "failuresThreshold"],
  ["gpu-worker.yaml", "restartPolicy", "restartPolice"],
  ["gpu-worker.yaml", "selector", "selectors"],
  ["keda-jobs.yaml", "pollingInterval", "pollInterval"],
  ["keda-metrics-api.yaml", "stabilizationWindowSeconds", "stabilisationWindowSeconds"],
  ["keda-postgresql.yaml", "secretTargetRef", "secretTargetRefs"],
])("S8 %s with a wrong name for %s has a field that the schema does not know", (file, name, wrong) => {
  const text = readFileSync(path.join(folder, file), "utf8").replaceAll(name, wrong);
  const unknown = parse(text).flatMap((object) => check(object).unknown);
  expect(unknown).not.toEqual([]);
  expect(unknown.every((place) => place.includes(`/${wrong}`))).toBe(true);
});

test("S8 the job of an autoscaler starts the worker with flags that it takes", () => {
  const [job] = read("keda-jobs.yaml");
  const text = JSON.stringify(job);
  const args: unknown = JSON.parse(/"args":(\[[^\]]*--once[^\]]*\])/.exec(text)?.[1] ?? "[]");
  const [, ...flags] = args as string[];
  expect(parseFlags(flags).flags?.once).toEqual({ queue: "gpu-high", waitMs: 60_000 });
});
