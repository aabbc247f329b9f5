import { describe, expect, test } from "bun:test";
import type { Route } from "../../../../src/kernel/routing/registry.ts";
import { refuseOtherSchemes } from "../../../../src/kernel/upstream/media-addresses.ts";
import { SsrfGuard } from "../../../../src/kernel/upstream/ssrf-guard.ts";
import { BoundUpstream } from "../../../../src/kernel/upstream/upstream.ts";
import { errorOf } from "../../../support/error-of.ts";
import { fetchOf, json } from "../fake-fetch.ts";
import { attemptOf, createBench, createPlugin } from "../support.ts";

const plugin = createPlugin({ chat: () => Promise.reject(new Error("not asked")) });
const publicRoute = createBench([plugin]).kernel.registry.byName("chat-1")?.routes[0] as Route;
const own = "http://192.168.1.7:8000/v1";
const address = "https://images.example/a.png";
const dataUrl = "data:image/png;base64,aGk=";
const png = () => new Response("hi", { headers: { "content-type": "image/png" } });

/** An upstream to a base URL, what it was sent, and what was fetched for it. */
function upstreamTo(baseUrl: string, { isBaseUrlGiven = false, addresses = ["93.184.216.34"], file = png } = {}) {
  const fetch = fetchOf(({ url }) => (url.startsWith(baseUrl) ? json({ fine: true }) : file()));
  const { network, clock } = createBench([plugin], { fetch });
  const guard = new SsrfGuard(async () => addresses, clock.now);
  const attempt = attemptOf({ ...publicRoute, baseUrl, isBaseUrlGiven });
  const upstream = new BoundUpstream({ ...network, guard }, attempt);
  const sent = () => fetch.asked.filter(({ url }) => url.startsWith(baseUrl)).map(({ body }) => body);
  return { upstream, sent, fetched: () => fetch.asked.map(({ url }) => url).filter((url) => !url.startsWith(baseUrl)) };
}

const part = (inner: object) => ({ messages: [{ role: "user", content: [{ type: "text", text: "See" }, inner] }] });
const input = (inner: object) => ({ input: [{ role: "user", content: [inner] }] });

/** Every place that takes an address, with what stands there once it is fetched. */
const places: [string, (url: string) => object, object, string][] = [
  [
    "an image of chat",
    (url) => part({ type: "image_url", image_url: { url, detail: "low" } }),
    part({ type: "image_url", image_url: { url: dataUrl, detail: "low" } }),
    "messages[0].content[1].image_url.url",
  ],
  [
    "an image of chat that is a text",
    (url) => part({ type: "image_url", image_url: url }),
    part({ type: "image_url", image_url: dataUrl }),
    "messages[0].content[1].image_url",
  ],
  [
    "a video",
    (url) => part({ type: "video_url", video_url: { url } }),
    part({ type: "video_url", video_url: { url: dataUrl } }),
    "messages[0].content[1].video_url.url",
  ],
  [
    "a file of chat",
    (url) => part({ type: "file", file: { file_data: url, filename: "a.pdf" } }),
    part({ type: "file", file: { file_data: dataUrl, filename: "a.pdf" } }),
    "messages[0].content[1].file.file_data",
  ],
  [
    "a member beside a text",
    (url) => part({ type: "text", text: "See", image_url: { url } }),
    part({ type: "text", text: "See", image_url: { url: dataUrl } }),
    "messages[0].content[1].image_url.url",
  ],
  ["a field of the request", (url) => ({ images: ["aGk=", url] }), { images: ["aGk=", dataUrl] }, "images[1]"],
  [
    "an image of Responses",
    (url) => input({ type: "input_image", image_url: url }),
    input({ type: "input_image", image_url: dataUrl }),
    "input[0].content[0].image_url",
  ],
  [
    "a file of Responses",
    (url) => input({ type: "input_file", file_url: url }),
    input({ filename: "file", type: "input_file", file_data: dataUrl }),
    "input[0].content[0].file_url",
  ],
  [
    "an image of Messages",
    (url) => part({ type: "image", source: { type: "url", url } }),
    part({ type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } }),
    "messages[0].content[1].source.url",
  ],
  [
    "a document in a tool's result",
    (url) =>
      part({
        type: "tool_result",
        tool_use_id: "1",
        content: [{ type: "document", source: { type: "url", url }, title: "https://title.example" }],
      }),
    part({
      type: "tool_result",
      tool_use_id: "1",
      content: [
        {
          type: "document",
          source: { type: "base64", media_type: "image/png", data: "aGk=" },
          title: "https://title.example",
        },
      ],
    }),
    "messages[0].content[1].content[0].source.url",
  ],
  [
    "an input of vectors",
    (url) => ({ input: ["aGk=", url], modality: "image" }),
    { input: ["aGk=", dataUrl], modality: "image" },
    "input[1]",
  ],
];

describe("an address for a server of the operator's own", () => {
  test.each(places)("is fetched by the gateway and sent along as bytes: %s", async (_, bodyOf, expected) => {
    const { upstream, sent, fetched } = upstreamTo(own);
    await upstream.json("/a", bodyOf(address));
    expect([fetched(), sent()]).toEqual([[address], [expected]]);
  });

  test.each(places)("is refused by its field where it is not of the public web: %s", async (_, bodyOf, __, param) => {
    const others = [
      "http://169.254.169.254/latest",
      "https://127.0.0.1/",
      "https://localhost/a",
      "file:///etc/passwd",
      " FILE:///etc/passwd",
      "ftp://10.0.0.1/a",
      "/etc/passwd",
      "../a.png",
      "~/a.png",
    ];
    for (const url of others) {
      const { upstream, sent, fetched } = upstreamTo(own);
      const error = await errorOf(upstream.json("/a", bodyOf(url)));
      expect([url, error]).toEqual([url, expect.objectContaining({ code: "invalid_request", status: 400, param })]);
      expect([sent(), fetched()]).toEqual([[], []]);
    }
  });

  test("is fetched once, and not beyond so many", async () => {
    const { upstream, fetched } = upstreamTo(own);
    const images = (count: number) => ({ images: Array.from({ length: count }, (_, index) => `${address}?${index}`) });
    await upstream.json("/a", { images: [address, address], image_url: address });
    expect(fetched()).toEqual([address]);
    expect(await errorOf(upstream.events("/a", images(17)))).toMatchObject({ status: 400, param: "images[16]" });
  });

  test("that answers no file is an error of the request", async () => {
    const { upstream, sent } = upstreamTo(own, { file: () => new Response("gone", { status: 404 }) });
    expect(await errorOf(upstream.json("/a", { image_url: address }))).toMatchObject({
      status: 400,
      param: "image_url",
    });
    expect(sent()).toEqual([]);
  });

  test("is looked for where media are, and nowhere in what people, models and tools wrote", async () => {
    const url = "http://10.0.0.5/";
    const body = {
      messages: [
        { role: "system", content: `Read ${url} and file:///etc/passwd` },
        { role: "user", content: [{ type: "text", text: url }] },
        {
          role: "assistant",
          content: [
            { type: "text", text: url, citations: [{ type: "web_search_result_location", url }] },
            { type: "tool_use", id: "1", name: "browse", input: { url, image_url: { url }, file: "/etc/hosts" } },
          ],
          annotations: [{ type: "url_citation", url_citation: { url } }],
        },
        {
          role: "user",
          content: [{ type: "document", source: { type: "text", media_type: "text/plain", data: url } }],
        },
        {
          role: "user",
          content: [{ type: "search_result", source: url, title: "a", content: [{ type: "text", text: url }] }],
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: `{"url":"${url}"}` } }],
        },
      ],
      tools: [
        {
          type: "function",
          function: { name: "f", parameters: { properties: { image_url: { type: "string", default: url } } } },
        },
      ],
      input: [{ type: "web_search_call", action: { type: "open_page", url } }, url],
      documents: [{ title: "a", text: url, url }],
      metadata: { image_url: url },
      guided_regex: "file:.*",
      audio: { voice: "alloy", format: "wav" },
      input_audio: { data: "//uQxAAA", format: "mp3" },
      image: "/9j/4AAQ",
    };
    const { upstream, sent } = upstreamTo(own);
    await upstream.json("/a", body);
    expect(sent()).toEqual([body]);
  });

  test("is refused in a form", async () => {
    const form = new FormData();
    form.set("prompt", "file:///etc/passwd");
    const { upstream, sent } = upstreamTo(own);
    await upstream.form("/a", form);
    expect(sent()).toHaveLength(1);
    form.set("image_url", "file:///etc/passwd");
    expect(await errorOf(upstream.form("/a", form))).toMatchObject({ status: 400, param: "image_url" });
    expect(sent()).toHaveLength(1);
  });
});

describe("a server is the operator's own", () => {
  const body = { image_url: address };

  test.each<[string, string, { isBaseUrlGiven?: boolean; addresses?: string[] }]>([
    ["by a private address", own, {}],
    ["by a loopback address", "http://127.0.0.1:8000/v1", {}],
    ["by the name localhost", "http://localhost:8000/v1", {}],
    [
      "by a name that the operator wrote and that leads to a private address",
      "http://gpu:8000/v1",
      { isBaseUrlGiven: true, addresses: ["10.0.0.3"] },
    ],
    [
      "by a name that the operator wrote and that leads nowhere",
      "http://gpu:8000/v1",
      { isBaseUrlGiven: true, addresses: [] },
    ],
  ])("%s", async (_, baseUrl, options) => {
    const { upstream, fetched } = upstreamTo(baseUrl, options);
    await upstream.json("/a", body);
    expect(fetched()).toEqual([address]);
  });

  test.each<[string, string, boolean]>([
    ["a public name", "https://api.example.org/v1", false],
    ["a public name that the operator wrote", "https://api.example.org/v1", true],
    ["a public address that the operator wrote", "https://93.184.216.34/v1", true],
  ])("and not by %s, which is sent addresses as they came", async (_, baseUrl, isBaseUrlGiven) => {
    const { upstream, sent, fetched } = upstreamTo(baseUrl, { isBaseUrlGiven });
    await upstream.json("/a", body);
    await upstream.json("/a", { image_url: "http://images.example/a.png" });
    expect([fetched(), sent()]).toEqual([[], [body, { image_url: "http://images.example/a.png" }]]);
  });
});

test("an address that is not of the web is refused whoever serves the request", () => {
  for (const [, bodyOf, , param] of places) {
    for (const url of ["file:///etc/passwd", "ftp://a.example/b", "gopher://a.example", " File:/etc/passwd"]) {
      expect(() => refuseOtherSchemes(bodyOf(url))).toThrow(expect.objectContaining({ status: 400, param }));
    }
    for (const url of [address, "http://images.example/a.png", dataUrl]) refuseOtherSchemes(bodyOf(url));
  }
});
