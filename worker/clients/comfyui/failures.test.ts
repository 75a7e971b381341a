import { expect, test } from "vitest";
import { executionFailure, outputsOf } from "./failures.ts";
import { isOfUnfit } from "./unfit.ts";

const tip =
  "This error means you ran out of memory on your GPU.\n\nTIPS: If the workflow worked before you might have accidentally set the batch_size to a large number.";

test.each([
  [
    "torch.OutOfMemoryError",
    `Allocation on device 0 would exceed allowed memory.\n${tip}`,
    "gpu_out_of_memory",
  ],
  ["torch.cuda.OutOfMemoryError", "CUDA out of memory. Tried to allocate 20.00 GiB", "gpu_out_of_memory"],
  ["RuntimeError", "CUDA error: out of memory", "gpu_out_of_memory"],
  ["RuntimeError", "MPS backend out of memory (MPS allocated: 8 GB)", "gpu_out_of_memory"],
  [
    "RuntimeError",
    "[enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory",
    "out_of_memory",
  ],
  [
    "RuntimeError",
    "Could not allocate tensor with 58982400 bytes. There is not enough GPU video memory available!",
    "gpu_out_of_memory",
  ],
  ["RuntimeError", "UR error: UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY", "gpu_out_of_memory"],
  ["RuntimeError", "Native API returns: -5 (PI_ERROR_OUT_OF_RESOURCES)", "gpu_out_of_memory"],
  ["RuntimeError", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate", "gpu_out_of_memory"],
  ["RUNTIME_EXCEPTION", "BFCArena: Failed to allocate memory for requested buffer", "gpu_out_of_memory"],
  ["numpy._core._exceptions._ArrayMemoryError", "Unable to allocate 1.2 GiB", "out_of_memory"],
  ["RuntimeError", "std::bad_alloc", "out_of_memory"],
  [
    "RuntimeError",
    "thrust::system::detail::bad_alloc: std::bad_alloc: cudaErrorMemoryAllocation: out of memory",
    "gpu_out_of_memory",
  ],
  ["MemoryError", "std::bad_alloc: out_of_memory: CUDA error at: pool.hpp", "gpu_out_of_memory"],
  ["RuntimeError", "hipErrorOutOfMemory: bad allocation: bad_alloc", "gpu_out_of_memory"],
  [
    "OSError",
    "[WinError 8] Not enough memory resources are available to process this command",
    "out_of_memory",
  ],
  ["OSError", "[Errno 12] Cannot allocate memory: '/models/gpu/a.safetensors'", "out_of_memory"],
  ["RuntimeError", "std::bad_alloc while reading /models/gpu/cuda/a.safetensors", "out_of_memory"],
  ["OSError", "[WinError 1455] The paging file is too small for this operation", "out_of_memory"],
  ["MemoryError", "", "out_of_memory"],
  ["OSError", "[Errno 12] Cannot allocate memory", "out_of_memory"],
  ["ExecutionBlocked", "the safety node blocked the picture", "engine_blocked"],
  ["RuntimeError", "mat1 and mat2 shapes cannot be multiplied", "engine_failed"],
] as const)("F27 %s: %s", (exception_type, exception_message, code) => {
  expect(executionFailure({ node_type: "KSampler", exception_type, exception_message })).toMatchObject({
    code,
  });
});

test.each([
  ["torch.AcceleratorError", "CUDA error: an illegal memory access was encountered\nSearch for it"],
  ["RuntimeError", "CUDA error: device-side assert triggered"],
  ["RuntimeError", "CUDA error: unspecified launch failure"],
  ["RuntimeError", "HIP error: an illegal memory access was encountered"],
  ["RuntimeError", "(at gemm.cuh:120) CUDA error: misaligned address"],
  ["RuntimeError", "level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)"],
  ["RuntimeError", "No CUDA GPUs are available"],
  ["RuntimeError", "The GPU device instance has been suspended. Use GetDeviceRemovedReason"],
  ["OSError", "[Errno 28] No space left on device: '/opt/ComfyUI/output/a.png'"],
  ["OSError", "[Errno 122] Disk quota exceeded"],
  ["OSError", "[Errno 30] Read-only file system: '/data/output'"],
  ["OSError", "[WinError 112] There is not enough space on the disk"],
  ["RuntimeError", "write failed: No space left on device (os error 28)"],
  ["OSError", "[Errno 24] Too many open files: '/opt/ComfyUI/temp/a.png'"],
] as const)("F27 the server fails every run by %s: %s", (exception_type, exception_message) => {
  const failure = executionFailure({ node_type: "KSampler", exception_type, exception_message });
  expect(failure).toMatchObject({ code: "engine_failed", message: expect.stringMatching(/^The server /) });
  expect(failure.message).not.toMatch(/opt|data|png/);
  expect(isOfUnfit(failure)).toBe(true);
});

test.each([
  ["torch.OutOfMemoryError", "CUDA error: out of memory"],
  ["RuntimeError", "CUDA error: no kernel image is available for execution on the device"],
  ["RuntimeError", "CUDA error: invalid argument"],
  ["RuntimeError", "cuBLAS: the device was not found in the prompt"],
  ["ValueError", "an illegal memory access is no prompt"],
  ["RuntimeError", "No such node in: [CUDA error: device-side assert triggered]"],
  ["FileNotFoundError", "[Errno 2] No such file or directory: 'a space left on device'"],
  ["OSError", "[Errno 22] Invalid argument: 'output/a:b.png'"],
  ["OSError", "[Errno 12] Cannot allocate memory"],
] as const)("F27 the server is fit after %s: %s", (exception_type, exception_message) => {
  const prompt = "CUDA error: device-side assert triggered";
  const failure = { node_type: "KSampler", exception_type, exception_message };
  expect(isOfUnfit(executionFailure(failure, [prompt]))).toBe(false);
});

test.each([
  ["UNETLoader", "model_missing"],
  ["LoadImageMask", "input_missing"],
] as const)("A12 a file that %s does not find while it runs", (node_type, code) => {
  const failure = executionFailure({ node_type, exception_type: "FileNotFoundError", exception_message: "" });
  expect(failure).toMatchObject({ code });
});

test("A12 neither the traceback nor what people wrote leaves the server's answer", () => {
  const failure = executionFailure({
    node_type: "CLIPTextEncode",
    exception_type: "ValueError",
    exception_message: "cannot encode 'a portrait of Ada'",
    traceback: ['  File "/opt/comfyui/nodes.py", line 77'],
    current_inputs: { text: ["a portrait of Ada"] },
  });
  const exception = "ValueError: cannot encode '[input]'";
  // A person's own mistake, such as a wrong setting, comes again: the node's words say which.
  expect(failure.message).toBe(`The node CLIPTextEncode failed: ${exception}`);
  expect(failure.details).toEqual({ nodeClass: "CLIPTextEncode", exception });
  expect(String(failure.cause)).toBe("Error: ValueError: cannot encode '[input]'");
});

test.each([
  [
    "cut and in other letters",
    "Cannot encode 'A Portrait of Ada in a blu...'",
    "Cannot encode 'A [input] of [input] in a [input]...'",
  ],
  ["escaped", String.raw`token 'Ada\'s\nblue coat' unknown`, String.raw`token '[input]\'s\n[input]' unknown`],
  ["in a script without spaces", "token '赤い椅' unknown", "token '[input]' unknown"],
] as const)(
  "S9 A12 a prompt that a node quotes %s is not in the error",
  (_how, exception_message, expected) => {
    const userTexts = ["a portrait of Ada's\nblue coat in a blue room", "庭の赤い椅子"];
    const failure = executionFailure(
      { node_type: "KSampler", exception_type: "RuntimeError", exception_message },
      userTexts,
    );
    expect(String(failure.cause)).toBe(`Error: RuntimeError: ${expected}`);
    expect(failure.details?.["exception"]).toBe(`RuntimeError: ${expected}`);
  },
);

test("the text of an exception is one line of 200 characters at most", () => {
  const exception_message = `header\ntoo small ${"x".repeat(500)}`;
  const { details } = executionFailure({
    node_type: "VAELoader",
    exception_type: "SafetensorError",
    exception_message,
  });
  expect(details?.["exception"]).toMatch(/^SafetensorError: header too small x{100,}$/);
  expect(String(details?.["exception"])).toHaveLength(200);
});

test.each([
  ["ValueError", "Sampler 'x' not in list", "node_failed"],
  ["TypeError", "unsupported operand", "node_failed"],
  ["ModuleNotFoundError", "No module named 'onnx'", "node_failed"],
  ["Exception", "Unauthorized: Please login first to use this node.", "node_failed"],
  ["Exception", "API request failed: 402 Payment Required", "node_failed"],
  ["RuntimeError", "Missing API key for this node", "node_failed"],
  ["Exception", "**** ERROR: Saving image outside the output folder is not allowed.", "node_failed"],
  ["Exception", "Invalid api_key provided", "node_failed"],
  ["RuntimeError", "Error while reading safetensors of the filter", "engine_failed"],
  ["RuntimeError", "CUDA error: an illegal memory access was encountered", "engine_failed"],
  ["SafetensorError", "Error while deserializing header: HeaderTooLarge", "engine_failed"],
  ["ConnectionError", "Max retries exceeded", "engine_failed"],
  ["OSError", "[Errno 28] No space left on device", "engine_failed"],
] as const)("A12 %s: %s is %s: what is lasting is tried once on a server", (type, text, code) => {
  const failure = executionFailure({ node_type: "Brush", exception_type: type, exception_message: text });
  expect(failure.code).toBe(code);
  expect(failure.message.startsWith("The node Brush failed: ")).toBe(code === "node_failed");
});

test.each([
  ["cannot open '/opt/comfy ui/models/loras/a.safetensors'", /'\/opt|loras/],
  ["cannot open /home/ada/private/a.png now", /home|ada|private/],
  [String.raw`cannot open C:\Users\Ada\a.png`, /Users|Ada/],
  ["GET https://api.example.org/v1/x?key=abcdef123&y=1 failed", /abcdef123/],
  ["bad header Authorization: Bearer abcdef123456", /abcdef123456/],
  ["key sk-abcdef1234567890 was refused", /abcdef1234567890/],
  ["api_key='abcdef1234567890' is wrong", /abcdef1234567890/],
])("S9 A12 the words of a node hold neither places nor keys: %s", (exception_message, hiddenText) => {
  const data = { node_type: "Brush", exception_type: "ValueError", exception_message };
  expect(executionFailure(data).message).not.toMatch(hiddenText);
});

test("A12 a failure without any data is a failure all the same", () => {
  expect(executionFailure(undefined)).toMatchObject({ code: "engine_failed" });
});

test.each([
  "Your request was flagged by our content moderation system",
  "Content policy violation",
  "BFL API did not return an image due to: Request Moderated.",
  "Task status: Content Moderated",
  "Your request was rejected as a result of our safety system.",
  'Error 400: {"error": {"message": "Your prompt was blocked by our content filter", "code": "x"}}',
  "The output violates our usage policies.",
  "Potential NSFW content was detected in one or more images.",
  "The picture did not pass the content moderation.",
  'Polling aborted due to error: Task failed: {"id": "a1", "status": "Request Moderated", "details": {"Moderation Reasons": ["Derivative Works Filter"]}}',
  "Task failed: 'Content Moderated'",
  "Stable Image Ultra generation failed: CONTENT_FILTERED.",
  "API Error: Image was blocked by content_policy",
  "Gemini API blocked the request. Reasons: ['IMAGE_PROHIBITED_CONTENT']",
  "Gemini API blocked the request. Reason: SAFETY (None)",
  "Content blocked by Google's Responsible AI filters",
  "The request failed because the output image may contain sensitive information.",
  "InputImageSensitiveContentDetected.PolicyViolation",
  "The safety check blocked this picture",
  "The image was flagged as unsafe",
])("A12 a service that refuses the content refuses it on every server: %s", (exception_message) => {
  const data = { node_type: "Paid", exception_type: "Exception", exception_message };
  const failure = executionFailure(data, ["an image of a prompt"]);
  expect(failure).toMatchObject({
    code: "engine_blocked",
    message: expect.stringMatching(/^The node Paid failed/),
  });
});

test.each([
  "Insufficient funds. Violates our terms.",
  "Payment failed: out of credits, and further prompts were flagged as sensitive",
  "Your account balance is too low",
  "Your resource has been temporarily blocked because we detected behavior that may violate our content policy.",
])(
  "A12 a service without money, or whose account is shut, is no refusal of the content, and is not asked again: %s",
  (exception_message) => {
    const data = { node_type: "Paid", exception_type: "Exception", exception_message };
    expect(executionFailure(data)).toMatchObject({ code: "node_failed" });
  },
);

test.each([
  "could not parse token '(nsfw:1.2)'",
  "Error while deserializing header: /models/loras/nsfw/x.safetensors",
  "Connection to moderation service timed out",
  "The request was rejected: the content filter timed out",
  "Request rejected: too many requests",
  "cudaError: input tensor flagged non-contiguous",
  "task 12: flagged as stuck by watchdog",
  "image size flagged as too large",
  "the status flag of the output was not flagged",
  "No reply for the prompt 'a request, flagged'",
  "No reply for a flag that violates the policy of a state, thrice",
])("A12 a failure that passes is not taken for a refused content: %s", (exception_message) => {
  const data = { node_type: "Paid", exception_type: "RuntimeError", exception_message };
  const userTexts = ["a flag that violates the policy of a state"];
  expect(executionFailure(data, userTexts)).toMatchObject({ code: "engine_failed" });
});

test("A12 files that an output names twice are there once, in their order", () => {
  const names = Array.from({ length: 30 }, (_, at) => `${at}.png`);
  const images = [...names, ...names].map((filename) => ({ filename }));
  const found = outputsOf({ outputs: { 9: { images } }, status: null });
  expect(found.map(({ filename }) => filename)).toEqual(names);
});

test("A12 files of nodes that others became while they ran are those of the nodes of the graph", () => {
  const one = (filename: string) => ({ images: [{ filename }] });
  const outputs = { 9: one("a.png"), "9.0.0.9": one("b.png"), "7:0.1": one("c.png"), 4: one("d.png") };
  const meta = { "9.0.0.9": { display_node: "9" }, "7:0.1": { display_node: "7" }, 4: null };
  const found = outputsOf({ outputs, meta, status: null });
  expect(found.map(({ nodeId, filename }) => `${nodeId} ${filename}`).toSorted()).toEqual([
    "4 d.png",
    "7 c.png",
    "9 a.png",
    "9 b.png",
  ]);
});
