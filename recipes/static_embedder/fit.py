"""Fits a token table so that its similarities rank texts as the teacher's do."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

WIDTH = 96  # tokens of a text that count in training


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a table is fitted. A low teacher heat makes the few nearest texts count, which is what a search needs."""

    steps: int = 1_200
    rate: float = 2e-3
    teacher_heat: float = 0.006
    student_heat: float = 0.06
    anchors: int = 1_024
    near: int = 12
    random: int = 1_024
    question_share: float = 0.6
    seed: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything on the device: token ids (padded with the unknown token) and the teacher's vectors."""

    documents: Tensor
    document_vectors: Tensor
    questions: Tensor
    question_vectors: Tensor
    near_questions: Tensor  # for each question, the documents nearest to it in the teacher's eyes
    near_documents: Tensor
    anchor_documents: Tensor  # the documents that `near_documents` is about
    mates: Tensor  # for each question, one random document of its own group


def token_ids(tokenizer: Tokenizer, texts: list[str], device: str) -> Tensor:
    """Padded token ids, with the unknown token as padding."""
    unknown = tokenizer.token_to_id("[UNK]")
    out = np.full((len(texts), WIDTH), unknown, dtype=np.int32)
    for start in range(0, len(texts), 65_536):
        for offset, encoding in enumerate(
            tokenizer.encode_batch_fast(texts[start : start + 65_536], add_special_tokens=False)
        ):
            ids = encoding.ids[:WIDTH]
            out[start + offset, : len(ids)] = ids
    return torch.from_numpy(out).to(device)


def nearest(rows: Tensor, columns: Tensor, count: int) -> Tensor:
    """For each row the numbers of the nearest columns."""
    parts = [(part @ columns.T).topk(count, dim=1).indices for part in rows.split(1_024)]
    return torch.cat(parts)


class Student(torch.nn.Module):
    """A token table: a text is the sum of its tokens' rows, of length one."""

    def __init__(self, table: Tensor, unknown: int) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(table.clone())
        self.heat = torch.nn.Parameter(torch.zeros((), device=table.device))
        self.unknown = unknown

    def forward(self, ids: Tensor) -> Tensor:
        weights = (ids != self.unknown).to(self.table.dtype)
        return functional.normalize(
            functional.embedding_bag(ids, self.table, per_sample_weights=weights, mode="sum"), dim=1
        )


def fit(material: Material, table: Tensor, unknown: int, plan: Plan) -> NDArray[np.float32]:
    """The fitted table."""
    torch.manual_seed(plan.seed)
    device = table.device
    student = Student(table, unknown)
    optimiser = torch.optim.Adam(student.parameters(), lr=plan.rate, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, plan.rate, total_steps=plan.steps, pct_start=0.1)
    asked = int(plan.anchors * plan.question_share)
    for _ in range(plan.steps):
        q = torch.randint(len(material.questions), (asked,), device=device)
        a = torch.randint(len(material.anchor_documents), (plan.anchors - asked,), device=device)
        near_q, near_d = material.near_questions[q], material.near_documents[a]
        picks = torch.randint(near_q.shape[1], (asked, plan.near), device=device)
        picks_d = torch.randint(near_d.shape[1], (len(a), plan.near), device=device)
        docs = torch.cat(
            [
                near_q.gather(1, picks).flatten(),
                near_d.gather(1, picks_d).flatten(),
                material.mates[q],
                torch.randint(len(material.documents), (plan.random,), device=device),
            ]
        ).unique()
        loss = _loss(student, material, q, material.anchor_documents[a], docs, plan)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        schedule.step()
    return np.asarray(student.table.detach().cpu().numpy(), dtype=np.float32)


def _loss(student: Student, material: Material, q: Tensor, a: Tensor, docs: Tensor, plan: Plan) -> Tensor:
    columns = student(material.documents[docs])
    heat = plan.student_heat * student.heat.exp()
    truth = material.document_vectors[docs]
    ours_q = student(material.questions[q]) @ columns.T / heat
    theirs_q = (material.question_vectors[q] @ truth.T).float() / plan.teacher_heat
    ours_a = student(material.documents[a]) @ columns.T / heat
    theirs_a = (material.document_vectors[a] @ truth.T).float() / plan.teacher_heat
    itself = a[:, None] == docs[None, :]
    ours_a, theirs_a = ours_a.masked_fill(itself, -1e4), theirs_a.masked_fill(itself, -1e4)
    asked = len(q) / (len(q) + len(a))
    return asked * _divergence(ours_q, theirs_q) + (1 - asked) * _divergence(ours_a, theirs_a)


def _divergence(ours: Tensor, theirs: Tensor) -> Tensor:
    return functional.kl_div(
        functional.log_softmax(ours, 1), functional.log_softmax(theirs, 1), reduction="batchmean", log_target=True
    )
