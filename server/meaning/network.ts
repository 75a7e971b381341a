import { type ModelFile, blockWeights, unpackBlocks } from "./model-file.ts";

/**
 * The model as a network that ONNX Runtime runs, written from its file: vectors of pieces `[texts, pieces, width]` and what
 * is padding `[texts, 1, 1, pieces]` (0, or a very low number) in, vectors of the pieces in their context out.
 */
export function writeNetwork(model: ModelFile): Uint8Array {
  const graph = createGraph();
  const { width, heads, inner, layers } = model;
  const named = (prefix: string) => ({
    dense: (input: string, [name, outputs, inputs]: readonly [string, number, number]) =>
      graph.dense(input, {
        name: `${prefix}${name}`,
        outputs,
        inputs,
        blocks: model.blocks(`${prefix}${name}.w`),
        bias: model.floats(`${prefix}${name}.b`),
      }),
    norm: (input: string, name: string) => {
      const weight = graph.floats(model.floats(`${prefix}${name}.w`), [width]);
      const bias = graph.floats(model.floats(`${prefix}${name}.b`), [width]);
      return graph.add("LayerNormalization", [input, weight, bias], { axis: -1, epsilon: model.epsilon });
    },
  });
  const perHead = graph.longs([0, 0, heads, width / heads]);
  const joined = graph.longs([0, 0, width]);
  const scale = graph.floats(Float32Array.of(1 / Math.sqrt(width / heads)), [1]);
  const split = (input: string, order: readonly number[]) =>
    graph.add("Transpose", [graph.add("Reshape", [input, perHead])], { perm: order });
  let state = named("emb.").norm("pieces", "ln");
  for (let layer = 0; layer < layers; layer += 1) {
    const { dense, norm } = named(`l${layer}.`);
    const query = split(graph.add("Mul", [dense(state, ["q", width, width]), scale]), [0, 2, 1, 3]);
    const key = split(dense(state, ["k", width, width]), [0, 2, 3, 1]);
    const value = split(dense(state, ["v", width, width]), [0, 2, 1, 3]);
    const fit = graph.add("Add", [graph.add("MatMul", [query, key]), "padding"]);
    const mixed = graph.add("MatMul", [graph.add("Softmax", [fit], { axis: -1 }), value]);
    const context = graph.add("Reshape", [graph.add("Transpose", [mixed], { perm: [0, 2, 1, 3] }), joined]);
    state = norm(graph.add("Add", [state, dense(context, ["ao", width, width])]), "aln");
    const wide = graph.add("Gelu", [dense(state, ["fi", inner, width])], {}, { domain: microsoft });
    state = norm(graph.add("Add", [state, dense(wide, ["fo", width, inner])]), "oln");
  }
  graph.add("Identity", [state], {}, { output: "contexts" });
  return graph.finish(width);
}

const microsoft = "com.microsoft";
type Attributes = Readonly<Record<string, number | readonly number[]>>;

interface Dense {
  readonly name: string;
  readonly outputs: number;
  readonly inputs: number;
  readonly blocks: Buffer;
  readonly bias: Float32Array;
}

const kinds = { float: 1, byte: 2, long: 7 } as const;

function createGraph() {
  const nodes: Uint8Array[] = [];
  const tensors: Uint8Array[] = [];
  let names = 0;
  const fresh = () => `t${(names += 1)}`;
  const tensor = (kind: keyof typeof kinds, dims: readonly number[], data: ArrayBufferView) => {
    const name = fresh();
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    tensors.push(
      message([
        ...dims.map((dim) => field(1, dim)),
        field(2, kinds[kind]),
        field(8, text(name)),
        field(9, bytes),
      ]),
    );
    return name;
  };
  const floats = (values: Float32Array, dims: readonly number[]) => tensor("float", dims, values);
  const longs = (values: readonly number[]) =>
    tensor("long", [values.length], BigInt64Array.from(values.map(BigInt)));
  const add = (
    operation: string,
    inputs: readonly string[],
    attributes: Attributes = {},
    { domain = "", output = fresh() }: { readonly domain?: string; readonly output?: string } = {},
  ) => {
    nodes.push(
      message([
        ...inputs.map((input) => field(1, text(input))),
        field(2, text(output)),
        field(4, text(operation)),
        ...Object.entries(attributes).map(([name, value]) => field(5, attribute(name, value))),
        field(7, text(domain)),
      ]),
    );
    return output;
  };
  const dense = (input: string, { outputs, inputs, blocks, bias }: Dense) => {
    const { codes, scales } = unpackBlocks(blocks);
    const perRow = inputs / blockWeights;
    const weights = tensor("byte", [outputs, perRow, blockWeights / 2], codes);
    const product = add(
      "MatMulNBits",
      [input, weights, floats(scales, [outputs * perRow])],
      { K: inputs, N: outputs, bits: 4, block_size: blockWeights, accuracy_level: 4 },
      { domain: microsoft },
    );
    return add("Add", [product, floats(bias, [outputs])]);
  };
  const finish = (width: number) =>
    message([
      field(1, 8),
      field(8, message([field(1, text("")), field(2, 17)])),
      field(8, message([field(1, text(microsoft)), field(2, 1)])),
      field(
        7,
        message([
          ...nodes.map((node) => field(1, node)),
          field(2, text("text-model")),
          ...tensors.map((each) => field(5, each)),
          field(11, described("pieces", ["texts", "length", width])),
          field(11, described("padding", ["texts", 1, 1, "length"])),
          field(12, described("contexts", ["texts", "length", width])),
        ]),
      ),
    ]);
  return { add, dense, finish, floats, longs };
}

function described(name: string, dims: readonly (number | string)[]): Uint8Array {
  const shape = message(
    dims.map((dim) => field(1, message([typeof dim === "number" ? field(1, dim) : field(2, text(dim))]))),
  );
  const tensorType = message([field(1, kinds.float), field(2, shape)]);
  return message([field(1, text(name)), field(2, message([field(1, tensorType)]))]);
}

/** Numbers that are whole are integers, but for those whose names say otherwise. */
function attribute(name: string, value: number | readonly number[]): Uint8Array {
  const named = field(1, text(name));
  if (typeof value !== "number")
    return message([named, ...value.map((each) => field(8, each)), field(20, 7)]);
  return Number.isInteger(value)
    ? message([named, field(3, value), field(20, 2)])
    : message([named, floatField(2, value), field(20, 1)]);
}

// What follows writes protocol buffers, the format of ONNX.

const text = (value: string) => Buffer.from(value);
const message = (fields: readonly Uint8Array[]): Uint8Array => Buffer.concat(fields);

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Uint8Array.from([...bytes, Number(rest)]);
}

function field(number: number, value: number | Uint8Array): Uint8Array {
  return typeof value === "number"
    ? Buffer.concat([varint(number * 8), varint(value)])
    : Buffer.concat([varint(number * 8 + 2), varint(value.length), value]);
}

function floatField(number: number, value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([varint(number * 8 + 5), bytes]);
}
