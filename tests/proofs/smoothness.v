(* Theorem smoothness of models/mathematics.md: from boxes of all levels that nest to distances that move by one. *)
From Coq Require Import Lia Arith Bool.

Section Smoothness.
Variables (Data Point Query Box : Type) (near : Data -> Data -> Prop).
Variables (holds : Box -> Point -> Prop) (inside : Box -> Box -> Prop).
Variable T : Data -> nat -> Box.                               (* the box of level k *)
Variables (run : Data -> Point) (label : Point -> Query -> nat) (certifies : Box -> Query -> nat -> bool).
Hypothesis near_sym : forall D D', near D D' -> near D' D.
Hypothesis inside_holds : forall A B theta, inside A B -> holds A theta -> holds B theta.
Hypothesis sound : forall B x c, certifies B x c = true -> forall theta, holds B theta -> label theta x = c.
Hypothesis isotone : forall A B x c, inside A B -> certifies B x c = true -> certifies A x c = true.
Hypothesis point : forall D, holds (T D 0) (run D).
Hypothesis nesting : forall D D' k, near D D' -> inside (T D' k) (T D (S k)).
Variable K : nat.

Definition f D x := label (run D) x.
(* the number of leading levels from, from + 1, … that certify c, of `fuel` levels *)
Fixpoint leading (D : Data) (x : Query) (c from fuel : nat) : nat :=
  match fuel with O => 0 | S fuel => if certifies (T D from) x c then S (leading D x c (S from) fuel) else 0 end.
Definition h D x := leading D x (f D x) 1 K.

Lemma leading_spec D x c fuel : forall from j, j < leading D x c from fuel -> certifies (T D (from + j)) x c = true.
Proof.
  induction fuel; intros from j H; simpl in H; [lia|]. destruct (certifies (T D from) x c) eqn:E; [|lia].
  destruct j; [rewrite Nat.add_0_r; exact E|]. rewrite Nat.add_succ_r. apply (IHfuel (S from)). lia.
Qed.
Lemma leading_ge D x c fuel : forall from n, n <= fuel -> (forall j, j < n -> certifies (T D (from + j)) x c = true) ->
  n <= leading D x c from fuel.
Proof.
  induction fuel; intros from n Hn H; simpl; [lia|]. destruct n; [lia|].
  assert (E := H 0 ltac:(lia)). rewrite Nat.add_0_r in E. rewrite E.
  assert (n <= leading D x c (S from) fuel); [|lia]. apply IHfuel; [lia|].
  intros j Hj. specialize (H (S j) ltac:(lia)). rewrite Nat.add_succ_r in H. exact H.
Qed.
Lemma leading_le D x c fuel : forall from, leading D x c from fuel <= fuel.
Proof. induction fuel; intros; simpl; [lia|]. destruct (certifies _ _ _); [specialize (IHfuel (S from)); lia|lia]. Qed.
Lemma equal_label D D' x : near D D' -> 1 <= h D x -> f D x = f D' x.
Proof.
  intros N H. symmetry. unfold f at 1. eapply sound; [|eapply inside_holds; [apply nesting; exact N|apply point]].
  apply (leading_spec D x (f D x) K 1 0). exact H.
Qed.

Theorem smoothness : forall D D' x, near D D' ->
  h D x <= h D' x + 1 /\ h D' x <= h D x + 1 /\ (1 <= h D x \/ 1 <= h D' x -> f D x = f D' x).
Proof.
  assert (main : forall D D' x, near D D' -> h D x <= h D' x + 1).
  { intros D D' x N. destruct (Nat.eq_dec (h D x) 0) as [|Z]; [lia|].
    assert (E : f D x = f D' x) by (apply equal_label; [assumption|lia]).
    assert (h D x - 1 <= h D' x); [|lia]. unfold h at 2. rewrite <- E. apply leading_ge.
    - unfold h. pose proof (leading_le D x (f D x) K 1). lia.
    - intros j Hj. eapply isotone; [|apply (leading_spec D x (f D x) K 1 (S j)); fold (h D x); lia].
      rewrite Nat.add_succ_r. apply nesting. exact N. }
  intros D D' x N. split; [auto|]. split; [auto|]. intros [H|H]; [apply equal_label; auto|symmetry; apply equal_label; auto].
Qed.
(* Whatever lies in a certified box has the label: by enclosure, every run at that distance. *)
Theorem stable_distance : forall D x k D'', holds (T D k) (run D'') -> 1 <= k <= h D x -> f D'' x = f D x.
Proof.
  intros D x k D'' H Hk. unfold f at 1. eapply sound; [|exact H].
  replace k with (1 + (k - 1)) by lia. apply (leading_spec D x (f D x) K 1 (k - 1)). unfold h in Hk. lia.
Qed.
End Smoothness.

(* ---- An example: a dataset is a number, training gives it back, the label is whether it is below 10. ---- *)
Definition number_near (D D' : nat) := D <= D' + 1 /\ D' <= D + 1.
Definition number_holds (B : nat * nat) (theta : nat) := fst B <= theta <= snd B.
Definition number_inside (A B : nat * nat) := fst B <= fst A /\ snd A <= snd B.
Definition number_box (D k : nat) := (D - k, D + k).
Definition number_label (theta : nat) (_ : unit) := if theta <? 10 then 0 else 1.
Definition number_certifies (B : nat * nat) (_ : unit) (c : nat) := if c =? 0 then snd B <? 10 else (c =? 1) && (10 <=? fst B).
Definition number_h := h nat nat unit (nat * nat) number_box (fun D => D) number_label number_certifies 5.
Ltac numbers := unfold number_near, number_holds, number_inside, number_box, number_label, number_certifies in *; cbn [fst snd].
Lemma number_sound : forall B x c, number_certifies B x c = true -> forall theta, number_holds B theta -> number_label theta x = c.
Proof.
  intros (l, u) x c H theta Th. numbers. cbn [fst snd] in *. destruct (Nat.eqb_spec c 0) as [E|E]; [subst c|].
  - apply Nat.ltb_lt in H. destruct (Nat.ltb_spec theta 10); lia.
  - apply andb_true_iff in H. destruct H as (A & B). apply Nat.eqb_eq in A. apply Nat.leb_le in B. destruct (Nat.ltb_spec theta 10); lia.
Qed.
Lemma number_isotone : forall A B x c, number_inside A B -> number_certifies B x c = true -> number_certifies A x c = true.
Proof.
  intros (l, u) (l', u') x c. numbers. destruct (c =? 0); rewrite ?andb_true_iff, ?Nat.ltb_lt, ?Nat.leb_le; intuition lia.
Qed.
Example smoothness_example : forall D D', number_near D D' -> number_h D tt <= number_h D' tt + 1.
Proof.
  intros D D' N. apply (smoothness nat nat unit (nat * nat) number_near number_holds number_inside number_box) ; try exact number_sound; try exact number_isotone; try exact N;
    intros; numbers; lia.
Qed.
Example stable_distance_example : f nat nat unit (fun D => D) number_label 8 tt = f nat nat unit (fun D => D) number_label 6 tt.
Proof. apply (stable_distance nat nat unit (nat * nat) number_holds number_box (fun D => D) number_label number_certifies number_sound 5 6 tt 2); numbers; cbn; lia. Qed.
(* The largest certified level of a sparse list, of level 3 alone: neighbours at 3 and at 0. *)
Fact smoothness_mutant : let sparse D := if number_certifies (number_box D 3) tt (number_label D tt) then 3 else 0 in
  number_near 6 7 /\ ~ sparse 6 <= sparse 7 + 1.
Proof. split; [numbers; lia|cbn; lia]. Qed.
(* One level beyond the distance. *)
Fact stable_distance_mutant : number_h 8 tt = 1 /\ number_holds (number_box 8 2) 10 /\ number_label 10 tt <> number_label 8 tt.
Proof. repeat split; cbn; numbers; cbn; lia. Qed.
