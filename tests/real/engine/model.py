"""Makes a language model that knows nothing, the same each time: a Llama of random weights, small enough for two cores.

Run by the engine's own Python, with the folder that the model is written to.
"""

from __future__ import annotations

import sys
from pathlib import Path
from pydoc_data.topics import topics

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

_SPECIAL = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>"]
_FILLER = Path(__file__).parents[3] / "probes/clients/filler.py"
_TEXTS = [*sorted(topics.values()), *[_FILLER.read_text("utf-8")] * 1000]
"""What the vocabulary is learned from: English, and the everyday words of long prompts, which those of real models have
each as one token.
"""
_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
_LONGEST = 16384


def _tokenizer() -> PreTrainedTokenizerFast:
    bare = Tokenizer(models.BPE())
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=4096, special_tokens=_SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    bare.train_from_iterator(_TEXTS, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bare,
        eos_token=_SPECIAL[0],
        pad_token=_SPECIAL[0],
        chat_template=_TEMPLATE,
        model_max_length=_LONGEST,
    )


def _llama(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    torch.manual_seed(0)
    llama = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=128,
            intermediate_size=256,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=_LONGEST,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    with torch.no_grad():
        _keep_to_text(llama, tokenizer)
    return llama.to(torch.bfloat16)


def _keep_to_text(llama: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    """Whatever it says is UTF-8: ASCII, and letters of two bytes, each of which is a token of its own.

    The first dimension is the same for every token, the second tells the first byte of such a letter; beside them the
    random ones are small, so that they alone decide which tokens can come next.
    """
    byte_of = {sign: byte for byte, sign in bytes_to_unicode().items()}
    parts = {
        number: [byte_of[sign] for sign in token]
        for token, number in tokenizer.vocab.items()
        if token not in _SPECIAL
    }
    never = [number for number, part in parts.items() if not all(0x20 <= byte < 0x7F for byte in part)]
    [begins] = [number for number, part in parts.items() if part == [0xC3]]
    ends = [number for number, part in parts.items() if len(part) == 1 and 0x80 <= part[0] < 0xC0]
    said, heard = llama.get_output_embeddings().weight, llama.get_input_embeddings().weight
    heard[:, :2] = 0
    heard[:, 0] = 1
    heard[begins, 1] = 4
    said[:, :2] = 0
    said[:, 1] = -20
    said[[*never, *range(1, len(_SPECIAL))], 0] = -20
    said[begins, 0] = 0.2  # now and then
    said[tokenizer.eos_token_id, 0] = -0.3  # seldom: an answer is as long as it may be
    said[ends, 1] = 20


if __name__ == "__main__":
    tokenizer = _tokenizer()
    tokenizer.save_pretrained(sys.argv[1])
    _llama(tokenizer).save_pretrained(sys.argv[1])
