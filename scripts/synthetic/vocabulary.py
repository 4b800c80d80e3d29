"""The vocabulary of the synthetic models: Gemma 4's tokenizer in small.

A word is one token (" w007"); its number is its class. Every other token belongs to the class of its id modulo the
cycle, so that whatever a prompt ends with, the next token is known.
"""

SPECIALS = ["<pad>", "<eos>", "<bos>", "<unk>", "<|turn>", "<turn|>", "<|channel>", "<channel|>"]
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
TEMPLATE = (
    "{{- bos_token -}}"
    "{%- for message in messages -%}"
    "{{- '<|turn>' + ('model' if message['role'] == 'assistant' else message['role']) + '\\n' -}}"
    "{{- message['content'] + '<turn|>\\n' -}}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|turn>model\\n' -}}{%- endif -%}"
)


class Vocabulary:
    """`cycle` words follow each other in a circle; the `tail` words after them lead to the end of the turn."""

    def __init__(self, cycle, tail, size=None, prefix="w"):
        self.cycle, self.classes = cycle, cycle + tail
        self.tokens, self.kinds, self.merges = [], [], []
        for text in SPECIALS:
            self._add(text, UNKNOWN if text == "<unk>" else CONTROL)
        for byte in range(256):
            self._add(f"<0x{byte:02X}>", BYTE)
        for code in range(33, 127):
            self._add(chr(code))
        self._add("\u2581")
        self._add("\n")
        self._add("\n\n")
        self.words = [self._word(f"\u2581{prefix}{number:03}") for number in range(self.classes)]
        while size is not None and len(self.tokens) < size:
            self._add(f"\u2581filler{len(self.tokens)}")
        self.class_of = [index % cycle for index in range(len(self.tokens))]
        for number, token in enumerate(self.words):
            self.class_of[token] = number
        self.bos, self.end = self.tokens.index("<bos>"), self.tokens.index("<turn|>")

    def _add(self, text, kind=NORMAL):
        self.tokens.append(text)
        self.kinds.append(kind)
        return len(self.tokens) - 1

    def _word(self, text):
        """Adds the merges that lead to `text`, one character after the other, and the tokens on the way."""
        for length in range(2, len(text) + 1):
            part = text[:length]
            if part not in self.tokens:
                self._add(part)
                self.merges.append(f"{part[:-1]} {part[-1]}")
        return self.tokens.index(text)

    def next_word(self, number):
        """Token that follows class `number`."""
        if number < self.cycle:
            return self.words[(number + 1) % self.cycle]
        return self.words[number + 1] if number + 1 < self.classes else self.end

    def write(self, file):
        file.string("tokenizer.ggml.model", "gemma4")
        file.strings("tokenizer.ggml.tokens", self.tokens)
        file.array("tokenizer.ggml.token_type", "i", self.kinds)
        file.strings("tokenizer.ggml.merges", self.merges)
        for name, token in (("bos", self.bos), ("eos", self.tokens.index("<eos>")), ("eot", self.end)):
            file.scalar(f"tokenizer.ggml.{name}_token_id", "I", token)
        file.scalar("tokenizer.ggml.unknown_token_id", "I", self.tokens.index("<unk>"))
        file.scalar("tokenizer.ggml.padding_token_id", "I", self.tokens.index("<pad>"))
        file.scalar("tokenizer.ggml.add_bos_token", "?", True)
        file.scalar("tokenizer.ggml.add_space_prefix", "?", False)
        file.string("tokenizer.chat_template", TEMPLATE)
