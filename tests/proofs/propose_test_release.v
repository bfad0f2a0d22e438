(* Theorems propose, test, release and batch of models/mathematics.md: the label with R h / N, else a refusal. *)
From Coq Require Import Reals Lra Lia ZArith List Arith.
From Holdfast Require Import finite_sums stable_randomised_response.
Import ListNotations.
Open Scope R_scope.

(* outcomes: the classes 0 .. C - 1, then the refusal C (ReleaseOrRefuseLaw) *)
Definition proposed (C : nat) (N : R) (r : nat -> R) (label h c : nat) : R :=
  if Nat.eqb c C then (N - r h) / N else if Nat.eqb c label then r h / N else 0.

Section Law.
Variables (C : nat) (N eps delta : R) (r : nat -> R).
Hypothesis HN : 0 < N.
Hypothesis Heps : 0 <= eps.
Hypothesis Hdelta : 0 <= delta.
Hypothesis range : forall h, 0 <= r h <= N.
Hypothesis first : r O <= delta * N.
Hypothesis rises : forall h, r h <= r (S h).
Hypothesis released : forall h, r (S h) <= exp eps * r h.
Hypothesis refused : forall h, N - r h <= exp eps * (N - r (S h)).

Lemma in_turn f h h' : (h <= h' + 1)%nat -> (h' <= h + 1)%nat -> private (S C) eps 0 (proposed C N r f h) (proposed C N r f h').
Proof.
  intros L1 L2. pose proof (exp_ge_1 eps Heps). apply private_by_ratio. intros c _.
  assert (by_entries : forall x y, x <= exp eps * y -> x / N <= exp eps * (y / N)).
  { intros x y X. unfold Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat|]; lra. }
  assert (cases : h' = h \/ h' = S h \/ h = S h') by lia. unfold proposed.
  destruct (Nat.eqb c C), (Nat.eqb c f); try lra; apply by_entries; pose proof (range h); pose proof (range h');
    destruct cases as [-> | [-> | ->]]; first [nra | pose proof (rises h); nra | pose proof (rises h'); nra | apply refused | apply released].
Qed.
Theorem propose_test_release : forall f h f' h', (f < C)%nat -> (f' < C)%nat -> neighbours f h f' h' ->
  private (S C) eps delta (proposed C N r f h) (proposed C N r f' h').
Proof.
  intros f h f' h' Hf Hf' (L1 & L2 & HL). pose proof (exp_ge_1 eps Heps). destruct (Nat.eq_dec f f') as [<-|Hne].
  - intros event. pose proof (in_turn f h h' L1 L2 event). lra.
  - assert (h = 0 /\ h' = 0)%nat as (-> & ->) by (destruct h, h'; try lia; exfalso; apply Hne, HL; lia).
    apply private_by_outcome. pose proof (range O).
    assert (pos : forall x, 0 <= x -> 0 <= x / N) by (intros; apply Rmult_le_pos; [assumption|left; apply Rinv_0_lt_compat; lra]).
    pose proof (pos (N - r O) ltac:(lra)). pose proof (pos (r O) ltac:(lra)).
    assert (r O / N <= delta) by (apply Rmult_le_reg_r with N; [lra|]; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra).
    eapply Rle_trans; [apply (total_one (S C) _ f delta 0); [lia|]|lra].
    intros c _. unfold proposed. destruct (Nat.eqb_spec c f), (Nat.eqb_spec c C), (Nat.eqb_spec c f'); subst; try lia; apply Rmax_lub; nra.
Qed.
End Law.

(* A file of queries: labels and distances of each, all neighbours. Its least distance and its list of labels are evidence
   of one query; so what passes or refuses by that distance is private whatever the lists are. *)
Definition evidence : Type := nat * nat.
Definition close (v v' : evidence) := neighbours (fst v) (snd v) (fst v') (snd v').
Fixpoint least (vs : list evidence) (cap : nat) : nat := match vs with [] => cap | v :: vs => Nat.min (snd v) (least vs cap) end.
Theorem batch : forall cap vs vs', Forall2 close vs vs' -> 
  (least vs cap <= least vs' cap + 1)%nat /\ (least vs' cap <= least vs cap + 1)%nat /\
  ((1 <= least vs cap)%nat \/ (1 <= least vs' cap)%nat -> map fst vs = map fst vs').
Proof.
  intros cap vs vs' F. induction F as [|v v' vs vs' (L1 & L2 & E) F (I1 & I2 & IE)]; cbn [least map]; [repeat split; lia|].
  repeat split; try lia. intros H. rewrite E, IE by lia. reflexivity.
Qed.

(* ---- Examples, and wrong statements refuted ---- *)
Definition sample (h : nat) : R := match h with O => 1 | 1%nat => 2 | _ => 3 end.
Example propose_test_release_example : private 3 (ln 2) (1 / 5) (proposed 2 5 sample 0 0) (proposed 2 5 sample 1 0).
Proof.
  assert (0 <= ln 2) by (rewrite <- ln_1; left; apply ln_increasing; lra).
  apply propose_test_release; try lra; try lia; rewrite ?exp_ln_2; try (intros [|[|h]]; simpl; lra); [simpl; lra|repeat split; lia].
Qed.
Example batch_example : Forall2 close [(1, 2); (0, 0)]%nat [(1, 3); (2, 0)]%nat.
Proof. repeat constructor; cbn; lia. Qed.
(* A first entry rounded up: more than delta at distance 0. *)
Fact propose_test_release_mutant : ~ private 3 (ln 2) (1 / 5) (proposed 2 5 (fun _ => 2) 0 0) (proposed 2 5 (fun _ => 2) 1 0).
Proof. intros H. specialize (H (fun x => Nat.eqb x 0)). unfold of_event, proposed in H. simpl in H. lra. Qed.
(* The greatest distance in place of the least. *)
Fixpoint greatest (vs : list evidence) : nat := match vs with [] => O | v :: vs => Nat.max (snd v) (greatest vs) end.
Fact batch_mutant : exists vs vs', Forall2 close vs vs' /\ (1 <= greatest vs)%nat /\ map fst vs <> map fst vs'.
Proof. exists [(1, 2); (0, 0)]%nat, [(1, 3); (2, 0)]%nat. repeat split; [apply batch_example|simpl; lia|discriminate]. Qed.
