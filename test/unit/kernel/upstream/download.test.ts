import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../../src/contract/index.ts";
import { downloadBytesMax, downloadPublic } from "../../../../src/kernel/upstream/download.ts";
import { isPublicAddress } from "../../../../src/kernel/upstream/ssrf-guard.ts";
import { fetchOf, liveBody, silence } from "../fake-fetch.ts";
import { rejectionOf } from "../support.ts";

const here = "https://93.184.216.34/cat.png";
const never = new AbortController().signal;
const unlimited = () => undefined;
const picture = new Response("PNG", { headers: { "content-type": "image/png; q=1" } });

const get = (
  fetch: ReturnType<typeof fetchOf>,
  url = here,
  signal = never,
  reserve: (bytes: number) => void = unlimited,
) => downloadPublic(({ href }, ended) => fetch(href, { signal: ended }), url, signal, reserve);

describe("an address", () => {
  test.each([
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "ff02::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "localhost",
    "",
  ])("%p is not public", (address) => expect(isPublicAddress(address)).toBe(false));

  test.each(["8.8.8.8", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450:4001::8a"])(
    "%p is public",
    (address) => expect(isPublicAddress(address)).toBe(true),
  );
});

describe("a download", () => {
  test("counts its bytes before it keeps them, and ends when there is no room", async () => {
    const counted: number[] = [];
    await get(fetchOf(picture), here, never, (bytes) => void counted.push(bytes));
    expect(counted).toEqual([3]);
    const refuse = () => {
      throw new GatewayError("unavailable", "There is no room");
    };
    expect(await rejectionOf(get(fetchOf(picture), here, never, refuse))).toMatchObject({ code: "unavailable" });
  });

  test("hands out bytes and media type", async () => {
    const { bytes, mediaType } = await get(fetchOf(picture));
    expect([new TextDecoder().decode(bytes), mediaType]).toEqual(["PNG", "image/png"]);
    const mislabelled = new Response("GIF89a", { headers: { "content-type": "image/png" } });
    expect((await get(fetchOf(mislabelled))).mediaType).toBe("image/gif");
  });

  test.each([
    ["http", "http://93.184.216.34/cat.png", "only https"],
    ["a file", "file:///etc/passwd", "only https"],
    ["no URL at all", "cat.png", "not a URL"],
    ["an IPv4 address of ours", "https://127.0.0.1/", "not on the public internet"],
    ["one written as a number", "https://2130706433/", "not on the public internet"],
    ["one written in octal", "https://0177.0.0.1/", "not on the public internet"],
    ["one with a dot at its end", "https://127.0.0.1./", "not on the public internet"],
    ["an IPv6 address of ours", "https://[::1]/", "not on the public internet"],
    ["an IPv4 address mapped into IPv6", "https://[::ffff:169.254.169.254]/", "not on the public internet"],
    ["a name that leads here", "https://localhost/", "not on the public internet"],
    ["a name that leads here, with a dot at its end", "https://localhost./", "not on the public internet"],
    ["an address short of numbers", "https://127.1/", "not on the public internet"],
    ["one written in hexadecimal", "https://0x7f000001/", "not on the public internet"],
    ["one with mixed radixes", "https://0xa9.254.0251.254/", "not on the public internet"],
    ["the metadata service", "https://169.254.169.254/latest", "not on the public internet"],
    ["this machine's every address", "https://0.0.0.0/", "not on the public internet"],
    ["one of full-width digits", "https://１２７.0.0.1/", "not on the public internet"],
    ["NAT64", "https://[64:ff9b::a9fe:a9fe]/", "not on the public internet"],
    ["the metadata service in IPv6", "https://[fd00:ec2::254]/", "not on the public internet"],
    ["an IPv4-compatible address", "https://[::127.0.0.1]/", "not on the public internet"],
    ["one with a user name in front", "https://8.8.8.8@127.0.0.1/", "a user name"],
    ["a public one with a password", "https://me:secret@8.8.8.8/", "a user name or a password"],
  ])("asks nobody for %s", async (_, url, says) => {
    const fetch = fetchOf(picture);
    const error = await rejectionOf(get(fetch, url));
    expect([error.code, error.message]).toEqual(["invalid_request", expect.stringContaining(says)]);
    expect(fetch.asked).toEqual([]);
  });

  const redirect = (location: string) => new Response(null, { status: 302, headers: { location } });

  test("follows redirects, relative ones too, three at the most", async () => {
    const fetch = fetchOf(redirect("/a"), redirect("https://8.8.8.8/b"), redirect("c"), picture);
    await get(fetch);
    expect(fetch.asked.map(({ url }) => url)).toEqual([
      here,
      "https://93.184.216.34/a",
      "https://8.8.8.8/b",
      "https://8.8.8.8/c",
    ]);
    expect((await rejectionOf(get(fetchOf(redirect("/again"))))).message).toContain("redirects more than 3 times");
  });

  test.each(["https://127.0.0.1/", "http://8.8.8.8/", "https://[::1]/x", "https://localhost/"])(
    "does not follow a redirect to %s",
    async (location) => {
      const fetch = fetchOf(redirect(location), picture);
      await rejectionOf(get(fetch));
      expect(fetch.asked).toHaveLength(1);
    },
  );

  test.each([404, 500, 304])("says so when the answer is %d", async (status) => {
    const answer = new Response(status === 304 ? null : "no", { status });
    expect((await rejectionOf(get(fetchOf(answer)))).message).toContain(`it answered ${status}`);
  });

  test("takes 20 MB and not a byte more", async () => {
    const full = new Uint8Array(downloadBytesMax);
    expect((await get(fetchOf(new Response(full)))).bytes).toHaveLength(downloadBytesMax);
    const more = new Response(new Blob([full, "x"]).stream());
    expect((await rejectionOf(get(fetchOf(more)))).message).toContain("larger than");
  });

  test("ends when the call is cut, before the head and in the body", async () => {
    for (const answer of [silence, ({ init }: { init: RequestInit }) => new Response(liveBody(init).body)]) {
      const controller = new AbortController();
      const got = rejectionOf(get(fetchOf(answer), here, controller.signal));
      setImmediate(() => controller.abort());
      expect((await got).message).toContain("could not be reached");
    }
  });
});
